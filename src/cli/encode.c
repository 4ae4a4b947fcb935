#include "cli/cli.h"

typedef struct Arguments {
    Texts tensors;
    const char *output;
    int64_t scale;
    unsigned granularity;
    bool decode;
} Arguments;

enum { SCALE_AUTOMATIC = 100 };

static void print_records(const json_t *report, bool decode) {
    size_t index;
    json_t *record;
    json_array_foreach(json_object_get(report, "tensors"), index, record) {
        const char *name = json_string_value(json_object_get(record, "name"));
        double values = json_number_value(json_object_get(record, "values"));
        if (decode) {
            printf("%-52s %.0f values\n", name, values);
            continue;
        }
        printf("%-52s scale %3.0f…%3.0f, relative rms error %.6f, %.0f clipped, %.0f flushed\n",
               name, json_number_value(json_object_get(record, "scale_least")),
               json_number_value(json_object_get(record, "scale_most")),
               json_number_value(json_object_get(record, "relative_rms_error")),
               json_number_value(json_object_get(record, "clipped")),
               json_number_value(json_object_get(record, "flushed")));
    }
}

static TwStatus encode(Cli *cli, const Arguments *a) {
    TwEncodeOptions options = {.input = cli->arguments.items[0],
                               .output = a->output,
                               .tensors = a->tensors.items,
                               .tensor_count = a->tensors.count,
                               .block_scales = a->granularity == 1,
                               .fixed = a->scale != SCALE_AUTOMATIC,
                               .scale = (int)a->scale,
                               .decode = a->decode};
    char *report;
    TwStatus status = tw_encode(cli->context, &options, &report);
    json_t *document = report ? json_loads(report, 0, NULL) : NULL;
    if (document && cli->report)
        json_object_update(cli->report, document);
    else if (document)
        print_records(document, a->decode);
    json_decref(document);
    tw_free(report);
    return status;
}

static int run_encode(Cli *cli, int argc, char **argv) {
    static const char *const granularities[] = {"block", "tensor", NULL};
    Arguments a = {.scale = SCALE_AUTOMATIC};
    Option options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "the SafeTensors file to write",
         .target = &a.output,
         .required = true},
        {.name = "tensors",
         .kind = OPTION_TEXTS,
         .value = "PATTERN",
         .help = "which; * is any text (default: every matrix of floats)",
         .target = &a.tensors},
        {.name = "scale",
         .kind = OPTION_WHOLE,
         .value = "E",
         .help = "exponent of all (default: the smallest that clips nothing)",
         .target = &a.scale,
         .least = -32,
         .most = 31},
        {.name = "scale-granularity",
         .kind = OPTION_CHOICES,
         .value = "block|tensor",
         .help = "a scale for 64 × 64 values, or one a tensor (default)",
         .target = &a.granularity,
         .choices = granularities},
        {.name = "decode",
         .kind = OPTION_FLAG,
         .help = "the other way: F8_E4M3FNUZ with exponents to F32",
         .target = &a.decode},
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv))
        status = encode(cli, &a);
    vec_free(&a.tensors);
    return cli_end(cli, status, false);
}

const Verb verb_encode = {
    .name = "encode",
    .arguments = "TENSORS",
    .least = 1,
    .most = 1,
    .summary = "round tensors to F143 codes, without data",
    .about = "TENSORS is a SafeTensors file, an index of several, or a folder with one of these.\n"
             "Codes are written as F8_E4M3FNUZ, their exponent as NAME_scale; other tensors are\n"
             "copied.\n",
    .examples = "  tilework encode examples/gemm/gemm.safetensors -o codes.safetensors --scale -4\n"
                "  tilework encode codes.safetensors -o values.safetensors --decode\n",
    .run = run_encode,
};
