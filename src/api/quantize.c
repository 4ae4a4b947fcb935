#include "api/api.h"

#include "base/text.h"
#include "quant/generate.h"
#include "quant/quant.h"

#include <string.h>

static SolveOptions solve_options(const TwQuantizeOptions *o) {
    static const Algorithm algorithms[] = {[TW_GPTQ] = ALGORITHM_GPTQ,
                                           [TW_NEAREST] = ALGORITHM_NEAREST,
                                           [TW_NO_ALGORITHM] = ALGORITHM_NONE};
    return (SolveOptions){
        .algorithm = algorithms[o->algorithm],
        .granularity = o->tensor_scales ? GRANULARITY_TENSOR : GRANULARITY_BLOCK,
        .scale_rule = o->error_scales ? SCALE_RULE_ERROR : SCALE_RULE_MAXIMUM,
        .damp = o->damp,
        .damp_retries = o->damp_retries,
        .activation_order = o->activation_order,
        .bias_correction = !o->no_bias_correction,
        .covariance = o->covariance,
    };
}

TwStatus tw_quantize(TwContext *context, const TwQuantizeOptions *o, char **report) {
    QuantOptions options = {
        .model = o->model,
        .output = o->output,
        .calibration = o->calibration,
        .calibration_count = o->calibration_count,
        .evaluation = o->evaluation,
        .evaluation_count = o->evaluation_count,
        .linears = o->linears,
        .linear_count = o->linear_count,
        .input_major = o->input_major,
        .layers = o->layers,
        .solve = solve_options(o),
        .block = o->block_size,
        .wide = o->f64_hessians,
        .sequential = o->sequential,
        .operands = o->quantized_propagation,
        .equalize = o->equalize,
        .equalize_limit = o->equalize_limit,
        .center = o->center,
        .share_roles = o->share_roles,
        .share_operands = o->share_operands,
        .input_offset = o->input_scale_offset,
        .weight_offset = o->weight_scale_offset,
        .clip = o->clip,
        .encode = o->encode,
        .resume = o->resume,
        .restart = o->restart,
        .allow_fallback = o->allow_fallback,
        .memory = o->memory,
        .shard = o->shard,
        .shards = o->shards,
        .layer = o->layer,
        .state = o->state,
        .statistics = o->statistics,
        .version = TW_VERSION,
    };
    return (TwStatus)quant_run(&options, context->pool, report, &context->diag);
}

TwStatus tw_merge(TwContext *context, const char *const *paths, size_t count, const char *output) {
    return (TwStatus)quant_merge(paths, count, output, &context->diag);
}

TwStatus tw_encode(TwContext *context, const TwEncodeOptions *o, char **report) {
    EncodeOptions options = {.input = o->input,
                             .output = o->output,
                             .tensors = o->tensors,
                             .tensor_count = o->tensor_count,
                             .granularity =
                                 o->block_scales ? GRANULARITY_BLOCK : GRANULARITY_TENSOR,
                             .fixed = o->fixed,
                             .scale = o->scale,
                             .decode = o->decode,
                             .version = TW_VERSION};
    return (TwStatus)quant_encode(&options, report, &context->diag);
}

TwStatus tw_generate_model(TwContext *context, const char *name, const char *folder,
                           unsigned images) {
    const SiglipConfig *config = strcmp(name, "siglip-tiny") == 0     ? &siglip_tiny
                                 : strcmp(name, "siglip-so400m") == 0 ? &siglip_so400m
                                                                      : NULL;
    char shown[TEXT_PRINTABLE];
    if (!config)
        return (TwStatus)diag_error(&context->diag, ERR_QUANT_CONFIG, DIAG_NOWHERE,
                                    "no model is called %s; known are siglip-tiny, siglip-so400m",
                                    text_printable(name, shown));
    return (TwStatus)generate_model(config, folder, images, &context->diag);
}
