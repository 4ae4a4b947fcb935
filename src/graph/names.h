/* Rules of names, shared by the builder and the reader of text. */
#pragma once

#include "graph/graph.h"

/* Characters of a value's name. */
bool graph_is_name_character(char c);
/* Whether a name may be given now; errors ERR_GRAPH_NAME at `place`. */
Status graph_check_value_name(const Graph *graph, const char *name, DiagPlace place, Diag *diag);
Status graph_check_port_name(const Graph *graph, const char *name, DiagPlace place, Diag *diag);
