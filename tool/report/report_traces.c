/* SPDX-License-Identifier: MIT */
/* `memoir traces`: whole stacks with their values, the largest first. */
#include "tool/report/report.h"

#include <stdlib.h>

#include "tool/report/table.h"

enum { STACKS_MOST = 20, VALUE_WIDTH = 10 };

static const struct view *sorting; /* qsort has no context */

static int compare(const void *left, const void *right)
{
    const struct view_stack *a = &sorting->stacks[*(const uint32_t *)left],
                            *b = &sorting->stacks[*(const uint32_t *)right];
    uint64_t x = (uint64_t)a->sum.value, y = (uint64_t)b->sum.value;
    x = a->sum.value < 0 ? 0 - x : x;
    y = b->sum.value < 0 ? 0 - y : y;
    return x != y ? (x > y ? -1 : 1) : a < b ? -1 : 1;
}

static void stack_text(const struct view *view, const struct style *style,
                       const struct view_stack *stack)
{
    char text[32];
    unsigned used = VALUE_WIDTH + 2;
    uint32_t folded = style->verbose ? stack->folded : 0;
    const uint32_t *path = view->path + stack->first - folded;
    for (uint32_t i = 0; i < stack->count + folded; i++) {
        if (i == 0)
            table_value(view, style, stack->sum.value, VALUE_WIDTH);
        else if (i == 1 && stack->sum.objects != 0)
            fprintf(style->out, "%*s", VALUE_WIDTH,
                    style_value(text, (double)stack->sum.objects, "count"));
        else
            fprintf(style->out, "%*s", VALUE_WIDTH, "");
        fputs("  ", style->out);
        table_site(view, style, path[i], (style->width - used) * 3 / 5, style->width - used);
        putc('\n', style->out);
    }
    putc('\n', style->out);
}

static void stack_json(struct json *json, const struct view *view, const struct view_stack *stack)
{
    json_object(json, NULL);
    json_number(json, "value", stack->sum.value);
    json_number(json, "objects", stack->sum.objects);
    json_real(json, "error", view_error_share(stack->sum.value, stack->sum.variance));
    json_array(json, "frames");
    for (uint32_t i = 0; i < stack->count; i++) {
        json_object(json, NULL);
        table_json_frame(json, view, view->path[stack->first + i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void stack_csv(const struct view *view, const struct style *style,
                      const struct view_stack *stack)
{
    fprintf(style->out, "%ld,%ld", (long)stack->sum.value, (long)stack->sum.objects);
    for (uint32_t i = 0; i < stack->count; i++) {
        putc(',', style->out);
        table_csv_text(style, view->frames[view->path[stack->first + i]].name);
    }
    putc('\n', style->out);
}

void report_traces(const struct view *view, const struct style *style)
{
    struct json json;
    uint32_t *order = malloc((view->stacks_count + 1) * sizeof *order);
    size_t count = 0;
    for (size_t i = 0; order && i < view->stacks_count; i++)
        if (view->stacks[i].sum.value != 0)
            order[count++] = (uint32_t)i;
    sorting = view;
    if (order)
        qsort(order, count, sizeof *order, compare);
    size_t shown = style->rows > 0               ? style->rows
                   : style->format == STYLE_TEXT ? STACKS_MOST
                                                 : count;
    shown = shown < count ? shown : count;
    if (style->format == STYLE_JSON) {
        json_start(&json, style->out, false);
        json_object(&json, NULL);
        table_json_head(&json, view, style, "memoir.traces/1");
        json_array(&json, "stacks");
    } else if (style->format == STYLE_CSV) {
        fputs("value,objects,frames (leaf first)\n", style->out);
    } else {
        table_head(view, style);
        putc('\n', style->out);
    }
    for (size_t i = 0; i < shown; i++) {
        const struct view_stack *stack = &view->stacks[order[i]];
        if (style->format == STYLE_JSON)
            stack_json(&json, view, stack);
        else if (style->format == STYLE_CSV)
            stack_csv(view, style, stack);
        else
            stack_text(view, style, stack);
    }
    if (style->format == STYLE_JSON) {
        json_end(&json);
        json_end(&json);
        putc('\n', style->out);
    } else if (style->format == STYLE_TEXT && shown < count) {
        fprintf(style->out, "%zu more stacks, --rows 0 shows all\n", count - shown);
    }
    free(order);
}
