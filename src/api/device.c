#include "api/api.h"

#include "base/text.h"
#include "emit/emit.h"

TwStatus api_device_open(TwContext *context, const TwPackage *package, bool timeline,
                         TwDevice **device) {
    TwDevice *opened = mem_alloc(1, sizeof *opened);
    if (!opened)
        return api_no_memory(context);
    *opened = (TwDevice){.context = context, .package = package->package};
    RunOptions options = {
        .machine = {.checks = context->checks ? MACHINE_CHECK_ALL : 0, .timeline = timeline}};
    Status status =
        run_open(package->package, context->pool, &options, &opened->device, &context->diag);
    if (status == STATUS_OK)
        *device = opened;
    else
        mem_free(opened);
    return (TwStatus)status;
}

TwStatus tw_device_open(TwContext *context, const TwPackage *package, TwDevice **device) {
    return api_device_open(context, package, false, device);
}

void tw_device_close(TwDevice *device) {
    if (!device)
        return;
    run_close(device->device);
    mem_free(device);
}

TwStatus tw_device_set(TwDevice *device, const char *name, const float *values, uint64_t count) {
    return (TwStatus)run_set(device->device, name, RUN_F32, values, count, &device->context->diag);
}

TwStatus tw_device_get(TwDevice *device, const char *name, float *values, uint64_t count) {
    return (TwStatus)run_get(device->device, name, RUN_F32, values, count, &device->context->diag);
}

static Status find_binding(TwDevice *device, const char *name, const PackageBinding **binding) {
    Diag *diag = &device->context->diag;
    *binding = package_find(device->package, name);
    if (*binding)
        return STATUS_OK;
    char shown[TEXT_PRINTABLE];
    diag_error(diag, ERR_RUN_BINDING, DIAG_NOWHERE,
               "the package has no input, parameter or output called %s",
               text_printable(name, shown));
    Nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < device->package->bindings.count; i++)
        nearest_offer(&nearest, device->package->bindings.items[i].name);
    if (nearest.best)
        diag_fix(diag, "the nearest one is %s", nearest.best);
    return ERR_RUN_BINDING;
}

/* Finds a binding by name and makes room for its codes. */
static Status open_binding(TwDevice *device, const char *name, const PackageBinding **binding,
                           void **codes, uint64_t *count) {
    Status status = find_binding(device, name, binding);
    if (status != STATUS_OK)
        return status;
    shape_count(&(*binding)->shape, count); /* a checked package */
    *codes = mem_alloc(*count, precision_bytes((*binding)->format.precision));
    return *codes ? STATUS_OK : (Status)api_no_memory(device->context);
}

TwStatus tw_device_read_input(TwDevice *device, const char *name, const char *place) {
    const PackageBinding *binding;
    void *codes;
    uint64_t count;
    Diag *diag = &device->context->diag;
    Status status = open_binding(device, name, &binding, &codes, &count);
    if (status != STATUS_OK)
        return (TwStatus)status;
    status = model_read(place, name, &binding->shape, binding->format.precision, codes, NULL, diag);
    if (status == STATUS_OK)
        status = run_set(device->device, name, RUN_CODES, codes, count, diag);
    mem_free(codes);
    return (TwStatus)status;
}

TwStatus tw_device_generate(TwDevice *device, const char *name, uint64_t seed, double sigma) {
    const PackageBinding *binding;
    void *codes;
    uint64_t count;
    Diag *diag = &device->context->diag;
    Status status = open_binding(device, name, &binding, &codes, &count);
    if (status != STATUS_OK)
        return (TwStatus)status;
    status = model_generate_codes(name, count, seed, sigma, binding->format.precision, codes, NULL,
                                  diag);
    if (status == STATUS_OK)
        status = run_set(device->device, name, RUN_CODES, codes, count, diag);
    mem_free(codes);
    return (TwStatus)status;
}

TwStatus tw_device_run(TwDevice *device, bool sampled, TwRunReport *report) {
    RunResult result = {0};
    Status status = run_invoke(device->device, sampled ? EMIT_RUN_SAMPLED : EMIT_RUN, &result,
                               &device->context->diag);
    if (status == STATUS_OK)
        *report = (TwRunReport){
            .cycles = result.cycles, .bundles = result.bundles, .seconds = result.seconds};
    return (TwStatus)status;
}

TwStatus tw_device_check_output(TwDevice *device, const char *name, const char *place) {
    const PackageBinding *binding;
    Diag *diag = &device->context->diag;
    Status status = find_binding(device, name, &binding);
    if (status == STATUS_OK && binding->kind != PACKAGE_OUTPUT)
        status = diag_error(diag, ERR_RUN_BINDING, (DiagPlace){.tile = -1, .object = name},
                            "the package has no output of this name");
    return (TwStatus)(status == STATUS_OK ? model_check_target(place, diag) : status);
}

TwStatus tw_device_write_output(TwDevice *device, const char *name, const char *place) {
    const PackageBinding *binding;
    void *codes;
    uint64_t count;
    Diag *diag = &device->context->diag;
    Status status = open_binding(device, name, &binding, &codes, &count);
    if (status != STATUS_OK)
        return (TwStatus)status;
    status = run_get(device->device, name, RUN_CODES, codes, count, diag);
    if (status == STATUS_OK)
        status = model_write(place, name, &binding->shape, binding->format.precision, codes, diag);
    mem_free(codes);
    return (TwStatus)status;
}
