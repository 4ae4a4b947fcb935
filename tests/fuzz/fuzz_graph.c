/* Graph text: whatever is accepted prints as text that gives the same graph again, and so does what
 * it unrolls to. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Diag diag = {0};
    Graph *graph, *again;
    Status status = graph_parse((const char *)bytes, size, "fuzz", &graph, &diag);
    if (status != diag_status(&diag))
        abort();
    if (status == STATUS_OK) {
        char *text = graph_print(graph);
        if (!text || graph_parse(text, strlen(text), NULL, &again, NULL) != STATUS_OK)
            abort();
        char *second = graph_print(again);
        if (!second || strcmp(text, second) != 0)
            abort();
        Graph *expanded, *twice;
        if (graph_expand(graph, &expanded, NULL) == STATUS_OK) {
            char *unrolled = graph_print(expanded);
            if (!unrolled || graph_parse(unrolled, strlen(unrolled), NULL, &twice, NULL))
                abort();
            mem_free(unrolled);
            graph_free(twice);
            graph_free(expanded);
        }
        mem_free(text);
        mem_free(second);
        graph_free(graph);
        graph_free(again);
    }
    diag_free(&diag);
    return 0;
}
