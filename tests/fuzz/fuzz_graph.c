/* Graph text: whatever is accepted prints as text that gives the same graph again. */
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
        mem_free(text);
        mem_free(second);
        graph_free(graph);
        graph_free(again);
    }
    diag_free(&diag);
    return 0;
}
