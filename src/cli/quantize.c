#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static const char *const algorithm_names[] = {"gptq", "nearest", "none", NULL};
static const char *const granularity_names[] = {"block", "tensor", NULL};
static const char *const rule_names[] = {"maximum", "error", NULL};
static const char *const sharing_names[] = {"role", "operands", NULL};
enum { ONE_GIB = 1 << 30 };

typedef struct Arguments {
    TwQuantizeOptions options;
    Texts calibration, evaluation, linears;
    unsigned algorithm, granularity, rule, sharing;
    int64_t layers, damp_retries, block, input_offset, weight_offset, layer, images;
    double memory; /* GiB */
    const char *output, *shard, *generate;
} Arguments;

/* The one choice of a list, or the default. */
static Status choose(Cli *cli, const char *option, unsigned bits, unsigned *choice) {
    if (bits & (bits - 1))
        return cli_error(cli, ERR_CLI_VALUE, option, "it takes one of these");
    *choice = bits ? (unsigned)__builtin_ctz(bits) : 0;
    return STATUS_OK;
}

/* "I/N" */
static Status parse_shard(Cli *cli, Arguments *a) {
    char *end, *more;
    if (!a->shard)
        return STATUS_OK;
    unsigned long shard = strtoul(a->shard, &end, 10);
    unsigned long shards = *end == '/' ? strtoul(end + 1, &more, 10) : 0;
    char shown[TEXT_PRINTABLE];
    if (shard < 1 || shard > shards || shards > 1u << 20 || *more != 0)
        return cli_error(cli, ERR_CLI_VALUE, "option --shard", "'%s' is not I/N with 1 ≤ I ≤ N",
                         text_printable(a->shard, shown));
    a->options.shard = (unsigned)shard;
    a->options.shards = (unsigned)shards;
    return STATUS_OK;
}

static Status complete(Cli *cli, Arguments *a) {
    TwQuantizeOptions *o = &a->options;
    unsigned algorithm = 0, granularity = 0, rule = 0;
    Status status = choose(cli, "option --algorithm", a->algorithm, &algorithm);
    if (status == STATUS_OK)
        status = choose(cli, "option --scale-granularity", a->granularity, &granularity);
    if (status == STATUS_OK)
        status = choose(cli, "option --scale-rule", a->rule, &rule);
    if (status == STATUS_OK)
        status = parse_shard(cli, a);
    o->algorithm = (TwAlgorithm)algorithm;
    o->tensor_scales = granularity == 1;
    o->error_scales = rule == 1;
    o->share_roles = a->sharing & 1;
    o->share_operands = a->sharing & 2;
    o->layers = (unsigned)a->layers;
    o->damp_retries = (unsigned)a->damp_retries;
    o->block_size = (unsigned)a->block;
    o->input_scale_offset = (int)a->input_offset;
    o->weight_scale_offset = (int)a->weight_offset;
    o->layer = (int)a->layer;
    o->memory = (uint64_t)(a->memory * ONE_GIB);
    o->model = cli->arguments.count ? cli->arguments.items[0] : NULL;
    o->output = a->output;
    o->calibration = a->calibration.items;
    o->calibration_count = a->calibration.count;
    o->evaluation = a->evaluation.items;
    o->evaluation_count = a->evaluation.count;
    o->linears = a->linears.items;
    o->linear_count = a->linears.count;
    return status;
}

static double real(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static void print_linears(const json_t *report) {
    size_t index;
    json_t *record;
    const json_t *linears = json_object_get(report, "linears");
    printf("%-52s %9s %6s %7s %6s %s\n", "linear", "rows", "s_in", "s_w", "ratio", "method");
    json_array_foreach((json_t *)linears, index, record) {
        int least = (int)real(record, "weight_scale_least"),
            most = (int)real(record, "weight_scale_most");
        char scales[16];
        snprintf(scales, sizeof scales, least == most ? "%d" : "%d…%d", least, most);
        printf("%-52s %9.0f %6.0f %7s %6.4f %s\n",
               json_string_value(json_object_get(record, "name")), real(record, "rows"),
               real(record, "input_scale"), scales, real(record, "ratio"),
               json_string_value(json_object_get(record, "method")));
    }
}

static void print_evaluation(const json_t *report) {
    size_t index;
    json_t *record;
    bool samples = json_array_size(json_object_get(report, "evaluation")) > 0;
    const char *what = samples ? "evaluation" : "stages";
    printf("\n%-52s %12s %12s %12s\n", samples ? "output of the model" : "output of the linear",
           "weights", "and inputs", "largest off");
    json_array_foreach(json_object_get(report, what), index, record) {
        const json_t *w = json_object_get(record, "weights"),
                     *a = json_object_get(record, "weights_and_inputs");
        const char *name = json_string_value(json_object_get(record, samples ? "sample" : "stage"));
        bool held_out = json_is_true(json_object_get(record, "held_out"));
        printf("%-41s %-10s %12.6f %12.6f %12.5g\n", name, held_out ? "(held out)" : "",
               real(w, "cosine_similarity"), real(a, "cosine_similarity"),
               real(a, "maximum_absolute_error"));
    }
}

static void print_report(const Arguments *a, const char *text) {
    json_t *report = json_loads(text, 0, NULL);
    const json_t *summary = json_object_get(report, "summary");
    print_linears(report);
    print_evaluation(report);
    printf(
        "\nweighted error %.5f of rounding to nearest; %.1f s, %.0f MiB at most\nwritten to %s\n",
        real(summary, "objective_ratio"), real(json_object_get(report, "seconds"), "total"),
        real(report, "peak_rss_bytes") / 0x1p20, a->output);
    json_decref(report);
}

static void put_report(Cli *cli, const char *text) {
    json_t *report = json_loads(text, 0, NULL);
    json_object_update(cli->report, report);
    json_decref(report);
}

static TwStatus quantize(Cli *cli, Arguments *a) {
    Status status = complete(cli, a);
    if (status == STATUS_OK && a->generate)
        return tw_generate_model(cli->context, a->generate, a->output, (unsigned)a->images);
    if (status == STATUS_OK && !a->options.model)
        status = cli_error(cli, ERR_CLI_ARGUMENTS, NULL, "quantize needs a MODEL");
    if (status != STATUS_OK)
        return (TwStatus)status;
    char *report;
    TwStatus result = tw_quantize(cli->context, &a->options, &report);
    if (report && cli->report)
        put_report(cli, report);
    else if (report)
        print_report(a, report);
    else if (result == 0 && !cli->report)
        printf("written to %s\n", a->options.shards ? a->output : "the folder of finished layers");
    tw_free(report);
    return result;
}

#define FLAG(text, description, member)                                                            \
    { .name = text, .kind = OPTION_FLAG, .help = description, .target = &a.options.member }
#define CHOICE(text, list, description, member, names)                                             \
    {                                                                                              \
        .name = text, .kind = OPTION_CHOICES, .value = list, .help = description,                  \
        .target = &a.member, .choices = names                                                      \
    }
#define WHOLE(text, description, member, from, to)                                                 \
    {                                                                                              \
        .name = text, .kind = OPTION_WHOLE, .value = "N", .help = description,                     \
        .target = &a.member, .least = from, .most = to                                             \
    }
#define REAL(text, unit, description, member, from, to)                                            \
    {                                                                                              \
        .name = text, .kind = OPTION_REAL, .value = unit, .help = description,                     \
        .target = &a.member, .least = from, .most = to                                             \
    }
#define TEXT(text, unit, description, member)                                                      \
    { .name = text, .kind = OPTION_TEXT, .value = unit, .help = description, .target = &a.member }
#define TEXTS(text, unit, description, member)                                                     \
    { .name = text, .kind = OPTION_TEXTS, .value = unit, .help = description, .target = &a.member }

static int run_quantize(Cli *cli, int argc, char **argv) {
    Arguments a = {
        .options = {.damp = 0.01, .equalize_limit = 16}, .block = 64, .layer = -1, .images = 6};
    Option options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = "FOLDER",
         .help = "new folder for model.safetensors and quantization.json",
         .target = &a.output,
         .required = true},
        TEXTS("calibration", "FILE", "a picture, pixel_values, or inputs to learn from",
              calibration),
        TEXTS("evaluate", "FILE", "the same, held out: judged, not learnt from", evaluation),
        TEXTS("linears", "PATTERN", "names of weights of any checkpoint; * is any text", linears),
        FLAG("input-major", "these weights are stored inputs × outputs", input_major),
        WHOLE("layers", "only the first N layers", layers, 1, 1 << 20),
        CHOICE("algorithm", "gptq|nearest|none", "how to round; none: only change the float model",
               algorithm, algorithm_names),
        CHOICE("scale-granularity", "block|tensor",
               "a scale for 64 × 64 weights, or one a tensor as the chip wants", granularity,
               granularity_names),
        CHOICE("scale-rule", "maximum|error", "clip nothing, or least weighted error", rule,
               rule_names),
        CHOICE("share", "role,operands",
               "one scale for all layers of a role; for both operands (-16…15)", sharing,
               sharing_names),
        REAL("damp", "X", "added to Hessian diagonals, of their mean (default 0.01)", options.damp,
             0, 1000),
        WHOLE("damp-retries", "factor again with ten times the damping, N times", damp_retries, 0,
              20),
        WHOLE("block-size", "columns of a Hessian block (default 64)", block, 1, 1 << 20),
        FLAG("activation-order", "round columns of large inputs first", activation_order),
        FLAG("f64-hessians", "sum Hessians in double", f64_hessians),
        FLAG("covariance", "weigh errors without the means, which biases take", covariance),
        FLAG("no-bias-correction", "leave biases as they are", no_bias_correction),
        FLAG("sequential", "each layer learns behind the reconstructed ones", sequential),
        FLAG("quantized-propagation", "and these compute with F143 inputs", quantized_propagation),
        FLAG("center", "move means of inputs into biases", center),
        FLAG("equalize", "balance columns behind layer norms", equalize),
        REAL("equalize-limit", "X", "largest factor of it (default 16)", options.equalize_limit, 1,
             1 << 16),
        REAL("clip", "X", "fraction of an input's values that may clip (default 0)", options.clip,
             0, 1),
        WHOLE("input-scale-offset", "added to input scales", input_offset, -31, 31),
        WHOLE("weight-scale-offset", "added to weight scales", weight_offset, -31, 31),
        FLAG("encode", "write F8_E4M3FNUZ codes and their exponents", encode),
        FLAG("allow-fallback", "no error if blocks fall back to nearest", allow_fallback),
        FLAG("resume", "continue an interrupted run", resume),
        FLAG("restart", "discard an interrupted run", restart),
        REAL("memory", "GIB", "refuse to use more", memory, 0, 1 << 20),
        TEXT("shard", "I/N", "write only statistics of part I of N to the output", shard),
        WHOLE("layer", "only this layer, from 0 (with --shard or --statistics)", layer, 0, 1 << 20),
        TEXT("statistics", "FILE", "merged statistics instead of calibration", options.statistics),
        TEXT("state", "FOLDER", "where finished layers are (default OUTPUT.partial)",
             options.state),
        TEXT("generate", "NAME", "write the model siglip-tiny or siglip-so400m instead", generate),
        WHOLE("images", "generated images beside it (default 6)", images, 0, 1 << 16),
        CLI_OPTION_THREADS,
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv))
        status = quantize(cli, &a);
    vec_free(&a.calibration);
    vec_free(&a.evaluation);
    vec_free(&a.linears);
    return cli_end(cli, status, false);
}

const Verb verb_quantize = {
    .name = "quantize",
    .arguments = "[MODEL]",
    .least = 0,
    .most = 1,
    .summary = "reconstruct a model's weights for F143 (float8_e4m3fnuz)",
    .about =
        "MODEL is a folder with config.json and SafeTensors of a SigLIP vision tower, or, with\n"
        "--linears, any checkpoint. The weights of its linears are moved to numbers that F143\n"
        "holds exactly, such that the outputs for the calibration data stay as they are; the rest\n"
        "is copied. The first example makes a small model to play with, the second quantizes it\n"
        "for the chip and judges it on the images that it has seen. The last one quantizes the\n"
        "classifier of the text recognizer that `./dev demo` fetches; its inputs are the tensor "
        "x.\n"
        "docs/quantization.md explains the options and what to expect.\n",
    .examples =
        "  tilework quantize --generate siglip-tiny -o tiny\n"
        "  tilework quantize tiny -o tiny-f143 --calibration tiny/images.safetensors "
        "--scale-granularity tensor\n"
        "  tilework quantize build/demo/ocr.safetensors -o ocr-f143 --linears w --input-major "
        "--calibration build/demo/ocr.safetensors:x --encode\n",
    .run = run_quantize,
};
