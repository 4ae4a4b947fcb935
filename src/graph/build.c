/* Graphs of the workloads. */
#include "graph/graph.h"

static Status build_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                         Precision input, Precision operand, Diag *diag) {
    Graph *built;
    Status status = graph_create(&built, diag);
    if (status != STATUS_OK)
        return status;
    uint32_t x, w, y;
    Shape left = {.rank = 2, .dims = {rows, inner}}, right = {.rank = 2, .dims = {inner, columns}};
    status = graph_add_input(built, "x", "x", input, left, &x, diag);
    if (status == STATUS_OK)
        status = graph_add_parameter(built, "w", "w", operand, right, &w, diag);
    if (status == STATUS_OK && !precision_equal(input, operand))
        status = graph_add_cast(built, "x.cast", x, operand, &x, diag);
    if (status == STATUS_OK)
        status = graph_add_gemm(built, "y", x, w, false, false, &y, diag);
    if (status == STATUS_OK)
        status = graph_add_output(built, "y", y, diag);
    if (status == STATUS_OK)
        *graph = built;
    else
        graph_free(built);
    return status;
}

Status graph_build_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                        Precision operand, Diag *diag) {
    return build_gemm(graph, rows, inner, columns, operand, operand, diag);
}

Status graph_build_device_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                               Precision operand, Diag *diag) {
    return build_gemm(graph, rows, inner, columns, (Precision){.kind = PRECISION_F16}, operand,
                      diag);
}
