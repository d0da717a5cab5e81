/* SPDX-License-Identifier: MIT */
/*
 * What -v adds to a row of a table: the library frames below a site. A site usually calls several
 * library functions; each chain of frames is shown with its share of the site's memory.
 */
#include "tool/report/table.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

/* CHAINS_MAX: the rest is one line. */
enum { CHAINS_MAX = 5, VALUE_WIDTH = 10, SHARE_WIDTH = 7, INDENT = 24 };

struct chain {
    uint32_t stack; /* the first that has it */
    uint32_t folded;
    int64_t value;
};

static struct chain *chains_make(const struct view *view, uint32_t frame, size_t *count);
static bool chain_is(const struct view *view, const struct chain *chain,
                     const struct view_stack *stack);
static int compare(const void *left, const void *right);
static void chain_print(const struct view *view, const struct style *style,
                        const struct chain *chain, int64_t whole);

void table_folded(const struct view *view, const struct style *style, uint32_t frame)
{
    size_t count, shown;
    char share[16];
    double left = 0;
    int64_t whole = 0;
    struct chain *chains = chains_make(view, frame, &count);
    if (!chains) {
        shortage_note();
        return;
    }
    for (size_t i = 0; i < count; i++)
        whole += chains[i].value;
    if (count == 1 && chains[0].folded == 0)
        count = 0; /* nothing to add */
    for (shown = 0; shown < count && shown < CHAINS_MAX; shown++)
        chain_print(view, style, &chains[shown], whole);
    for (size_t i = shown; i < count; i++)
        left += (double)chains[i].value;
    if (shown < count)
        fprintf(style->out, "%*s%*s  %zu more\n", VALUE_WIDTH, style->utf8 ? "  …" : "...",
                SHARE_WIDTH, style_share(share, left, (double)whole), count - shown);
    free(chains);
}

/* The chains below a site, the largest first, to be freed. NULL when memory is out. */
static struct chain *chains_make(const struct view *view, uint32_t frame, size_t *count)
{
    size_t room = 16;
    struct chain *chains = malloc(room * sizeof *chains);
    *count = 0;
    if (!chains)
        return NULL;
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        int64_t value = view_sum(view, i).value;
        size_t at = 0;
        if (stack.count == 0 || stack.frames[0] != frame || value == 0)
            continue;
        while (at < *count && !chain_is(view, &chains[at], &stack)) {
            at++;
            stack = view_stack(view, i); /* the comparison has made another one */
        }
        if (at == *count && !list_reserve(&chains, &room, at + 1, sizeof *chains)) {
            free(chains);
            return NULL;
        }
        if (at == *count)
            chains[(*count)++] = (struct chain){.stack = (uint32_t)i, .folded = stack.folded};
        chains[at].value += value;
    }
    qsort(chains, *count, sizeof *chains, compare);
    return chains;
}

static bool chain_is(const struct view *view, const struct chain *chain,
                     const struct view_stack *stack)
{
    if (chain->folded != stack->folded)
        return false;
    struct view_stack other = view_stack(view, chain->stack);
    return memcmp(stack->frames - stack->folded, other.frames - other.folded,
                  stack->folded * sizeof *stack->frames) == 0;
}

static int compare(const void *left, const void *right)
{
    const struct chain *a = left, *b = right;
    uint64_t x = a->value < 0 ? 0 - (uint64_t)a->value : (uint64_t)a->value;
    uint64_t y = b->value < 0 ? 0 - (uint64_t)b->value : (uint64_t)b->value;
    return x != y ? (x > y ? -1 : 1) : a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void chain_print(const struct view *view, const struct style *style,
                        const struct chain *chain, int64_t whole)
{
    char text[32], share[16];
    struct view_stack stack = view_stack(view, chain->stack);
    fprintf(style->out, "%*s%*s", VALUE_WIDTH, style_value(text, (double)chain->value, view->unit),
            SHARE_WIDTH, style_share(share, (double)chain->value, (double)whole));
    if (stack.folded == 0)
        fprintf(style->out, "%*s%s called directly\n", INDENT - VALUE_WIDTH - SHARE_WIDTH, "",
                style->utf8 ? "└" : "`");
    for (uint32_t i = 1; i <= stack.folded; i++) { /* from the site to the allocator */
        unsigned step = 2 * (i - 1), room = style->width / 2;
        unsigned indent = style->width > 80 ? INDENT + step : 18 + step;
        indent = indent < room ? indent : room;
        indent = indent > 18 ? indent : 18;
        fprintf(style->out, "%*s%s ", (int)(i == 1 ? indent - VALUE_WIDTH - SHARE_WIDTH : indent),
                "", style->utf8 ? "└" : "`");
        table_site(view, style, *(stack.frames - i),
                   style->width > indent + 40 ? (style->width - indent) / 2 : 20,
                   style->width > indent + 20 ? style->width - indent - 2 : 16);
        putc('\n', style->out);
    }
}
