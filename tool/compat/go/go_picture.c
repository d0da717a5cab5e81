/* SPDX-License-Identifier: MIT */
/* Pictures of Go's pprof: the graph, drawn by graphviz as a library. */
#include "tool/compat/go/go.h"

#include <stdlib.h>

void go_picture(struct go_profile *go, struct go_graph *graph, double node_share, double edge_share,
                enum compat_option how)
{
    char *text = NULL;
    size_t size = 0;
    if (how == COMPAT_DOT) {
        go_print_dot(go, graph, node_share, edge_share, stdout);
        return;
    }
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        compat_out_of_memory();
    go_print_dot(go, graph, node_share, edge_share, memory);
    if (fclose(memory) != 0)
        compat_out_of_memory();
    compat_show(go->words, text, how);
    free(text);
}
