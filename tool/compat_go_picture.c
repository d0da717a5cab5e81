/* SPDX-License-Identifier: MIT */
/* Pictures and files of Go's pprof. The pictures are memoir's own, of the same stacks. */
#include "tool/compat_go.h"

#include <stdlib.h>
#include <string.h>

#include "tool/report/report.h"

/* A pattern that means what it says: views would ignore case. */
static const char *exact(struct go_profile *go, enum compat_option option)
{
    const char *text = compat_text(go->words, option);
    char *pattern;
    if (text[0] == '\0')
        return NULL;
    if (asprintf(&pattern, "(?-i)%s", text) < 0)
        compat_fail("out of memory");
    return go_keep(go, pattern);
}

static enum view_by grain(const struct compat_words *words)
{
    return words->value[COMPAT_LINES].on       ? VIEW_LINE
           : words->value[COMPAT_FILES].on     ? VIEW_FILE
           : words->value[COMPAT_ADDRESSES].on ? VIEW_ADDRESS
                                               : VIEW_FUNCTION;
}

void go_picture(struct go_profile *go, enum compat_option how)
{
    const struct compat_value *value = go->words->value;
    const char *focus[] = {exact(go, COMPAT_FOCUS), NULL};
    const char *ignore[] = {exact(go, COMPAT_IGNORE), NULL};
    struct view_options options = {.type = go->type,
                                   .by = grain(go->words),
                                   .frames = VIEW_CALLERS,
                                   .focus = focus,
                                   .ignore = ignore,
                                   .show = exact(go, COMPAT_SHOW),
                                   .hide = exact(go, COMPAT_HIDE),
                                   .from = exact(go, COMPAT_SHOW_FROM),
                                   .prune = exact(go, COMPAT_PRUNE_FROM),
                                   .no_inlines = value[COMPAT_NOINLINES].on};
    double most = value[COMPAT_NODECOUNT].number;
    struct picture_options picture = {.title = go->program[0] ? go->program : NULL,
                                      .nodes_most = most > 0 ? (unsigned)most : 0,
                                      .node_share = value[COMPAT_NODEFRACTION].number,
                                      .edge_share = value[COMPAT_EDGEFRACTION].number};
    struct view view;
    struct view_error error = {""};
    char *text = NULL;
    size_t size = 0;
    if (!view_make(&view, go->from, &options, &error))
        compat_fail("%s", error.text);
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        compat_fail("out of memory");
    picture_dot(&view, &picture, memory);
    view_free(&view);
    if (fclose(memory) != 0)
        compat_fail("out of memory");
    if (how == COMPAT_DOT)
        fputs(text, stdout);
    else
        compat_show(text, how);
    free(text);
}
