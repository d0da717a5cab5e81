/* SPDX-License-Identifier: MIT */
/*
 * `memoir list`: the source of functions, with what each line allocated itself and with what it
 * called. An inlined call counts on the line that calls it and on the lines of the function that
 * was inlined, since both are frames.
 *
 * Long stretches without any number are left out. Where the source is missing or is not what was
 * compiled, that is said: wrong lines are worse than none.
 */
#include "tool/report/text/text.h"

#include <stdlib.h>
#include <string.h>

#include "tool/report/report.h"

enum { LIST_AROUND = 4, LIST_GAP = 12, LIST_LINE = 1024 };

struct list_line {
    uint32_t function; /* index of the list's */
    uint32_t line;
    struct view_value self, total;
};

struct list_function {
    uint32_t frame; /* one of its */
    size_t first, count;
    struct view_value self, total;
    size_t last_stack; /* counted last, plus 1 */
};

struct listing {
    const struct view *view;
    struct list_function *functions;
    size_t functions_count;
    struct list_line *lines; /* by function, then line */
    size_t lines_count;
    uint32_t *function_of; /* by frame, plus 1; 0: does not fit */
};

static bool listing_make(struct listing *list, const struct view *view,
                         const struct pattern *wanted);
static void listing_fill(struct listing *list, const struct view_row *rows, size_t count,
                         const struct pattern *wanted);
static bool list_same_function(const struct view *view, uint32_t a, uint32_t b);
static void listing_totals(struct listing *list);
static int list_line_compare(const void *left, const void *right);
static int list_function_compare(const void *left, const void *right, void *view);
static int64_t list_value(const struct view *view, const struct view_value *value);
static void listing_function_json(const struct listing *list, struct json *json,
                                  const struct list_function *function,
                                  const struct source_file *file);
static void listing_function_text(const struct listing *list, const struct style *style,
                                  const struct list_function *function,
                                  const struct source_file *file);
static void listing_source(const struct listing *list, const struct style *style,
                           const struct list_function *function, const struct source_file *file);
static void listing_number(const struct listing *list, const struct style *style,
                           const struct view_value *sum);
static void listing_source_line(const struct listing *list, const struct style *style,
                                const struct source_file *file, uint32_t number,
                                const struct list_line *line);
static void listing_free(struct listing *list);

bool report_list(const struct view *view, const char *pattern, const char *source_path,
                 const struct style *style, struct view_error *error)
{
    struct pattern wanted = {NULL, NULL};
    struct listing list = {0};
    struct json json;
    bool made = pattern_make(&wanted, "the function", pattern, error);
    if (made && !listing_make(&list, view, &wanted))
        made = view_out_of_memory(error);
    if (made && list.functions_count == 0)
        made = view_refuse_function(error, pattern);
    bool is_json = style->format == STYLE_JSON;
    if (made && is_json) {
        json_start(&json, style->out, true);
        json_object(&json, NULL);
        table_json_head(&json, view, style, "memoir.list/1");
        json_array(&json, "functions");
    } else if (made) {
        table_head(view, style);
    }
    size_t max = style->rows > 0 ? style->rows : list.functions_count;
    for (size_t i = 0; made && i < list.functions_count && i < max; i++) {
        const struct view_frame *frame = &view->frames[list.functions[i].frame];
        struct source_file file;
        source_file_open(&file, frame->file, source_path, frame->module, view->profile->time_ns);
        if (is_json)
            listing_function_json(&list, &json, &list.functions[i], &file);
        else
            listing_function_text(&list, style, &list.functions[i], &file);
        source_file_free(&file);
    }
    if (made && is_json) {
        json_end(&json);
        json_end(&json);
    }
    listing_free(&list);
    pattern_free(&wanted);
    return made;
}

static bool listing_make(struct listing *list, const struct view *view,
                         const struct pattern *wanted)
{
    size_t count = 0;
    struct view_row *rows = view_rows(view, true, &count);
    *list = (struct listing){.view = view};
    list->functions = calloc(count + 1, sizeof *list->functions);
    list->lines = calloc(count + 1, sizeof *list->lines);
    list->function_of = calloc(view->frames_count + 1, sizeof *list->function_of);
    bool made =
        rows != NULL && list->functions != NULL && list->lines != NULL && list->function_of != NULL;
    if (made) {
        listing_fill(list, rows, count, wanted);
        listing_totals(list);
        qsort(list->lines, list->lines_count, sizeof *list->lines, list_line_compare);
        for (size_t i = list->lines_count; i-- > 0;) {
            list->functions[list->lines[i].function].first = i;
            list->functions[list->lines[i].function].count++;
        }
        qsort_r(list->functions, list->functions_count, sizeof *list->functions,
                list_function_compare, (void *)view);
    }
    free(rows);
    return made;
}

/* The function of each row that fits; a line of the list for each. */
static void listing_fill(struct listing *list, const struct view_row *rows, size_t count,
                         const struct pattern *wanted)
{
    const struct view *view = list->view;
    for (size_t i = 0; i < count; i++) {
        const struct view_frame *frame = &view->frames[rows[i].frame];
        if (!pattern_fits(wanted, frame->name))
            continue;
        size_t number = 0;
        while (number < list->functions_count &&
               !list_same_function(view, list->functions[number].frame, rows[i].frame))
            number++;
        if (number == list->functions_count)
            list->functions[list->functions_count++] =
                (struct list_function){.frame = rows[i].frame};
        list->function_of[rows[i].frame] = (uint32_t)number + 1;
        view_add(&list->functions[number].self, &rows[i].self);
        list->lines[list->lines_count++] =
            (struct list_line){(uint32_t)number, frame->line, rows[i].self, rows[i].total};
    }
}

static bool list_same_function(const struct view *view, uint32_t a, uint32_t b)
{
    const struct view_frame *left = &view->frames[a], *right = &view->frames[b];
    return strcmp(left->name, right->name) == 0 && strcmp(left->file, right->file) == 0;
}

/* The total of a function has each stack once, wherever it passes through. */
static void listing_totals(struct listing *list)
{
    const struct view *view = list->view;
    for (size_t i = 0; i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        struct view_value sum = view_sum(view, i);
        for (uint32_t step = 0; step < stack.count; step++) {
            uint32_t number = list->function_of[stack.frames[step]];
            if (number == 0 || list->functions[number - 1].last_stack == i + 1)
                continue;
            list->functions[number - 1].last_stack = i + 1;
            view_add(&list->functions[number - 1].total, &sum);
        }
    }
}

static int list_line_compare(const void *left, const void *right)
{
    const struct list_line *a = left, *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static int list_function_compare(const void *left, const void *right, void *view)
{
    const struct list_function *a = left, *b = right;
    int64_t of_a = llabs(list_value(view, &a->total)), of_b = llabs(list_value(view, &b->total));
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int64_t list_value(const struct view *view, const struct view_value *value)
{
    int64_t change;
    if (view->base == NULL)
        return value->value;
    if (__builtin_sub_overflow(value->value, value->base, &change))
        return value->value > 0 ? INT64_MAX : -INT64_MAX;
    return change;
}

static void listing_function_json(const struct listing *list, struct json *json,
                                  const struct list_function *function,
                                  const struct source_file *file)
{
    const struct view *view = list->view;
    const struct view_frame *frame = &view->frames[function->frame];
    json_object(json, NULL);
    json_text(json, "name", frame->name);
    json_text(json, "file", frame->file);
    json_text(json, "module", frame->module);
    json_text(json, "source", file->path != NULL ? file->path : "");
    json_flag(json, "source_newer", file->newer);
    json_number(json, "self", function->self.value);
    json_number(json, "total", function->total.value);
    if (view->base != NULL) {
        json_number(json, "base_self", function->self.base);
        json_number(json, "base_total", function->total.base);
    }
    json_array(json, "lines");
    for (size_t i = 0; i < function->count; i++) {
        const struct list_line *line = &list->lines[function->first + i];
        char text[LIST_LINE];
        json_object(json, NULL);
        json_number(json, "line", line->line);
        json_number(json, "self", line->self.value);
        json_number(json, "self_objects", line->self.objects);
        json_number(json, "total", line->total.value);
        json_number(json, "total_objects", line->total.objects);
        if (view->base != NULL) {
            json_number(json, "base_self", line->self.base);
            json_number(json, "base_total", line->total.base);
        }
        json_text(json, "text", source_file_line(file, line->line, text, sizeof text));
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void listing_function_text(const struct listing *list, const struct style *style,
                                  const struct list_function *function,
                                  const struct source_file *file)
{
    const struct view_frame *frame = &list->view->frames[function->frame];
    char name[1024], text[32], share[16];
    style_cell(style, name, sizeof name, frame->name, style->width);
    fputc('\n', style->out);
    style_paint(style, "1", name);
    fputs("   ", style->out);
    style_place(style, file->path != NULL ? file->path : frame->file, 0);
    fprintf(style->out, "\n%11s%11s%7s   %s", "self", "total", "line", "");
    int64_t total = list_value(list->view, &function->total);
    fprintf(style->out, "%s in all, %s\n", style_value(text, (double)total, list->view->unit),
            style_share(share, (double)total, (double)list->view->total.value));
    if (frame->file[0] == '\0')
        fprintf(style->out, "%32s(no debug information: see memoir symbols %s)\n", "",
                style_file(style->name));
    else if (file->path == NULL)
        fprintf(style->out, "%32s(source not found: --source-path DIR)\n", "");
    else if (file->newer)
        fprintf(style->out, "%32s(changed since the program was built: lines may have moved)\n",
                "");
    listing_source(list, style, function, file);
}

/* The lines with numbers and some around them. */
static void listing_source(const struct listing *list, const struct style *style,
                           const struct list_function *function, const struct source_file *file)
{
    const struct list_line *lines = &list->lines[function->first];
    uint32_t around = file->path != NULL ? LIST_AROUND : 0;
    uint32_t last = 0;
    for (size_t i = 0; i < function->count; i++) {
        if (lines[i].line == 0) {
            listing_number(list, style, &lines[i].self);
            listing_number(list, style, &lines[i].total);
            fprintf(style->out, "%7s   (line not known)\n", "?");
            continue;
        }
        uint32_t from = lines[i].line > around ? lines[i].line - around : 1;
        if (last != 0 && (from <= last + 1 || lines[i].line - last < LIST_GAP))
            from = around > 0 ? last + 1 : lines[i].line;
        else if (last != 0)
            fprintf(style->out, "%29s\n", style->utf8 ? "⋮" : ":");
        for (uint32_t number = from; number < lines[i].line; number++)
            listing_source_line(list, style, file, number, NULL);
        listing_source_line(list, style, file, lines[i].line, &lines[i]);
        last = lines[i].line;
        uint32_t next = i + 1 < function->count ? lines[i + 1].line : UINT32_MAX;
        for (uint32_t step = 0; step < around && last + 1 < next && last < file->count; step++)
            listing_source_line(list, style, file, ++last, NULL);
    }
}

static void listing_number(const struct listing *list, const struct style *style,
                           const struct view_value *sum)
{
    const struct view *view = list->view;
    int64_t value = sum != NULL ? list_value(view, sum) : 0;
    char text[32] = ".", plain[40];
    if (value != 0)
        style_value(text, (double)value, view->unit);
    snprintf(plain, sizeof plain, "%s%s", view->base != NULL && value > 0 ? "+" : "", text);
    if (value != 0)
        style_heat(style, table_share(view, value), plain, 11);
    else
        fprintf(style->out, "%11s", plain);
}

static void listing_source_line(const struct listing *list, const struct style *style,
                                const struct source_file *file, uint32_t number,
                                const struct list_line *line)
{
    char text[LIST_LINE];
    listing_number(list, style, line != NULL ? &line->self : NULL);
    listing_number(list, style, line != NULL ? &line->total : NULL);
    source_file_line(file, number, text, sizeof text);
    if (style->fits)
        style_cut(text, sizeof text, style->width > 52 ? style->width - 32 : 20);
    fprintf(style->out, "%7u", number);
    if (file->path != NULL && number > file->count)
        fprintf(style->out, "   (the file has only %u lines: it is another version)\n",
                file->count);
    else if (text[0] != '\0')
        fprintf(style->out, "   %s\n", text);
    else
        fputc('\n', style->out);
}

static void listing_free(struct listing *list)
{
    free(list->functions);
    free(list->lines);
    free(list->function_of);
}
