/* A compiled product on the simulated chip against the numeric twin. */
#pragma once

#include "testing.h"

#include "api/api.h"
#include "base/random.h"
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

enum { PRODUCT_VALUES = 4 }; /* input, parameter, a cast of the input, result */

/* What the device gives for generated input codes. */
static void product_run(TwContext *context, const TwPackage *package, const void *x,
                        uint64_t x_count, void *y, uint64_t y_count) {
    TwDevice *device = NULL;
    TwRunReport report;
    Diag *diag = &context->diag;
    Status status = (Status)tw_package_verify(context, package);
    if (status == STATUS_OK)
        status = (Status)tw_device_open(context, package, &device);
    if (status == STATUS_OK)
        status = run_set(device->device, "x", RUN_CODES, x, x_count, diag);
    if (status == STATUS_OK)
        status = (Status)tw_device_run(device, false, &report);
    if (status == STATUS_OK)
        status = run_get(device->device, "y", RUN_CODES, y, y_count, diag);
    tw_print_messages(context, stderr);
    assert_int_equal(status, STATUS_OK);
    tw_device_close(device);
}

/* The package is sound, runs, and gives the twin's very codes: those of the plan that it holds.
 * `story` says what was compiled. */
static inline void product_check(TwContext *context, const TwGraph *owner, const TwWeights *weights,
                                 const TwPackage *package, uint64_t seed, const char *story) {
    const Graph *graph = owner->graph;
    Diag *diag = &context->diag;
    uint32_t result = graph_port_value(graph, graph_find_port(graph, "y"));
    const GraphValue *x = &graph->values.items[0], *y = &graph->values.items[result];
    uint64_t x_count, y_count;
    shape_count(&x->shape, &x_count);
    shape_count(&y->shape, &y_count);
    void *input = mem_alloc(x_count, precision_bytes(x->precision));
    F16 *found = mem_alloc(y_count, sizeof *found);
    assert_true(input && found && graph->values.count <= PRODUCT_VALUES);
    assert_int_equal(model_generate_codes("x", x_count, seed, 1, x->precision, input, NULL, diag),
                     STATUS_OK);
    product_run(context, package, input, x_count, found, y_count);
    Plan plan;
    assert_int_equal(plan_parse(tw_package_note(package, "plan"), "plan", graph, &plan, diag),
                     STATUS_OK);
    const void *given[PRODUCT_VALUES] = {input, weights->parameters.items[0].codes};
    void *twin[PRODUCT_VALUES] = {NULL};
    assert_int_equal(check_twin(graph, &plan, given, context->pool, twin, diag), STATUS_OK);
    const F16 *wanted = twin[result];
    for (uint64_t i = 0; i < y_count; i++)
        if (found[i] != wanted[i])
            fail_msg("%s: value %llu is %04x, not %04x", story, (unsigned long long)i, found[i],
                     wanted[i]);
    for (int i = 0; i < PRODUCT_VALUES; i++)
        mem_free(twin[i]);
    plan_free(&plan);
    mem_free(input);
    mem_free(found);
}
