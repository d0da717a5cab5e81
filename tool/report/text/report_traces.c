/* SPDX-License-Identifier: MIT */
/* `memoir traces`: whole stacks with their values, the largest first. */
#include "tool/report/text/text.h"

#include <stdlib.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"

enum { STACKS_MAX = 20, VALUE_WIDTH = 10 };

static int compare(const void *left, const void *right, void *view);
static uint64_t magnitude(const struct view *view, uint32_t stack);
static void stack_json(struct json *json, const struct view *view, const struct view_stack *stack,
                       const struct view_value *sum);
static void stack_csv(const struct view *view, const struct style *style,
                      const struct view_stack *stack, const struct view_value *sum);
static void stack_text(const struct view *view, const struct style *style,
                       const struct view_stack *stack, const struct view_value *sum);

void report_traces(const struct view *view, const struct style *style)
{
    struct json json;
    uint32_t *order = malloc((view->stacks_count + 1) * sizeof *order);
    size_t count = 0;
    for (size_t i = 0; order && i < view->stacks_count; i++)
        if (view_sum(view, i).value != 0)
            order[count++] = (uint32_t)i;
    if (order)
        qsort_r(order, count, sizeof *order, compare, (void *)view);
    else
        shortage_note();
    size_t shown = style->rows > 0 ? style->rows : style->format == STYLE_TEXT ? STACKS_MAX : count;
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
        struct view_stack stack = view_stack(view, order[i]);
        struct view_value sum = view_sum(view, order[i]);
        if (style->verbose) { /* with the library's frames */
            stack.frames -= stack.folded;
            stack.count += stack.folded;
        }
        if (style->format == STYLE_JSON)
            stack_json(&json, view, &stack, &sum);
        else if (style->format == STYLE_CSV)
            stack_csv(view, style, &stack, &sum);
        else
            stack_text(view, style, &stack, &sum);
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

static int compare(const void *left, const void *right, void *view)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = magnitude(view, a), y = magnitude(view, b);
    return x != y ? (x > y ? -1 : 1) : a < b ? -1 : a > b;
}

static uint64_t magnitude(const struct view *view, uint32_t stack)
{
    int64_t value = view_sum(view, stack).value;
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static void stack_json(struct json *json, const struct view *view, const struct view_stack *stack,
                       const struct view_value *sum)
{
    json_object(json, NULL);
    json_number(json, "value", sum->value);
    json_number(json, "objects", sum->objects);
    json_real(json, "error", view_error_share(sum->value, sum->variance));
    json_array(json, "frames");
    for (uint32_t i = 0; i < stack->count; i++) {
        json_object(json, NULL);
        table_json_frame(json, view, stack->frames[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void stack_csv(const struct view *view, const struct style *style,
                      const struct view_stack *stack, const struct view_value *sum)
{
    fprintf(style->out, "%ld,%ld", (long)sum->value, (long)sum->objects);
    for (uint32_t i = 0; i < stack->count; i++) {
        putc(',', style->out);
        table_csv_text(style, view->frames[stack->frames[i]].name);
    }
    putc('\n', style->out);
}

static void stack_text(const struct view *view, const struct style *style,
                       const struct view_stack *stack, const struct view_value *sum)
{
    char text[32];
    unsigned used = VALUE_WIDTH + 2;
    for (uint32_t i = 0; i < stack->count; i++) {
        if (i == 0)
            table_value(view, style, sum->value, VALUE_WIDTH);
        else if (i == 1 && sum->objects != 0)
            fprintf(style->out, "%*s", VALUE_WIDTH,
                    style_value(text, (double)sum->objects, UNIT_COUNT));
        else
            fprintf(style->out, "%*s", VALUE_WIDTH, "");
        fputs("  ", style->out);
        table_site(view, style, stack->frames[i], (style->width - used) * 3 / 5,
                   style->width - used);
        putc('\n', style->out);
    }
    putc('\n', style->out);
}
