/* SPDX-License-Identifier: MIT */
/*
 * The reports of Go's pprof that show samples and not sums: -traces, -tags, -comments. Text that
 * comes from the profile is printed without what a terminal takes for an order. Everything is
 * sorted, labels by key and value, so that the order of samples in a file does not show.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "tool/compat/go/go.h"
#include "tool/terminal/terminal.h"

int go_compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct go_text *)a)->text, ((const struct go_text *)b)->text);
}

static int compare_values(const void *a, const void *b)
{
    const struct go_text *left = a, *right = b;
    int64_t x = llabs(left->value), y = llabs(right->value);
    return x != y ? (x < y ? 1 : -1) : strcmp(left->text, right->text);
}

/* Text of a profile, without what terminals take for orders. */
void go_print_clean(const char *before, const char *text, const char *after)
{
    char *clean = strdup(text);
    if (!clean)
        compat_out_of_memory();
    terminal_clean(clean, strlen(clean));
    printf("%s%s%s", before, clean, after);
    free(clean);
}

static void print_trace_labels(const struct go_profile *go, const struct go_sample *sample)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    struct go_text texts[PROFILE_LABELS_MAX + 1];
    size_t count = go_labels(go, sample, labels);
    char number[64];
    for (unsigned numeric = 0; numeric < 2; numeric++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++) {
            const char *key = profile_text(go->from, labels[i].key);
            if ((labels[i].text == 0) != (numeric == 1))
                continue;
            const char *value =
                numeric ? go_label(labels[i].number, go_tag_unit(go, &labels[i]), "auto", number)
                        : profile_text(go->from, labels[i].text);
            if (asprintf(&texts[found++].text, "%10s:  %s\n", key, value) < 0)
                compat_out_of_memory();
        }
        if (numeric && sample->bytes > 0 &&
            asprintf(&texts[found++].text, "%10s:  %s\n", "bytes",
                     go_label(sample->bytes, "bytes", "auto", number)) < 0)
            compat_out_of_memory();
        if (found > 0)
            qsort(texts, found, sizeof *texts, go_compare_texts);
        for (size_t i = 0; i < found; i++) {
            terminal_clean(texts[i].text, strlen(texts[i].text));
            fputs(texts[i].text, stdout);
            free(texts[i].text);
        }
    }
}

void go_print_traces(struct go_profile *go, const struct go_graph *graph)
{
    static const char line[] =
        "-----------+-------------------------------------------------------";
    char number[64];
    go_print_head(go, stdout);
    for (size_t i = 0; i < go->count; i++) {
        const struct go_sample *sample = &go->samples[i];
        int64_t value = sample->divisor != 0 ? sample->value / sample->divisor : sample->value;
        bool first = true;
        if (sample->count == 0)
            continue;
        puts(line);
        print_trace_labels(go, sample);
        for (uint32_t k = 0; k < sample->count; k++) {
            uint32_t place = go->path[sample->first + k];
            uint32_t lines = go->places[place].count;
            for (uint32_t n = 0; n < (lines > 0 ? lines : 1); n++) {
                uint32_t slot =
                    lines > 0 ? go->places[place].first + n : (uint32_t)go->lines_count + place;
                printf("%10s   %s%s\n", first ? go_format(go, value, number) : "",
                       graph->kinds[graph->kind_of_line[slot]].name,
                       n + 1 < lines ? " (inline)" : "");
                first = false;
            }
        }
    }
    puts(line);
}

/* What one key's values stand for. */
struct tag {
    const char *key;
    char *value;
    int64_t sum;
};

static int compare_tags(const void *a, const void *b)
{
    const struct tag *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    return order != 0 ? order : strcmp(left->value, right->value);
}

static struct tag *gather_tags(const struct go_profile *go, size_t *count)
{
    struct tag *tags = NULL;
    size_t room = 0;
    char number[64];
    *count = 0;
    for (size_t i = 0; i < go->count; i++) {
        struct profile_label labels[PROFILE_LABELS_MAX];
        const struct go_sample *sample = &go->samples[i];
        size_t found = go_labels(go, sample, labels);
        for (size_t k = 0; k < found + (sample->bytes > 0); k++) {
            bool own = k == found;
            const char *value;
            if (own)
                value = go_label(sample->bytes, "bytes", go->unit, number);
            else if (labels[k].text == 0)
                value = go_label(labels[k].number, go_tag_unit(go, &labels[k]), go->unit, number);
            else
                value = profile_text(go->from, labels[k].text);
            compat_reserve(&tags, &room, *count + 1, sizeof *tags);
            struct tag *tag = &tags[(*count)++];
            *tag = (struct tag){own ? LABEL_BLOCK_BYTES : profile_text(go->from, labels[k].key),
                                strdup(value), sample->value};
            if (!tag->value)
                compat_out_of_memory();
            terminal_clean(tag->value, strlen(tag->value));
        }
    }
    return tags;
}

/* One key: a line with the sum, a line for each value, in columns that end at the right. */
static void print_key(const struct go_profile *go, const struct tag *tags, size_t count)
{
    struct go_text *texts = compat_room(NULL, count, sizeof *texts);
    char **cells = compat_room(NULL, count, sizeof(char *));
    size_t found = 0, width = 0, key = strlen(tags[0].key) + 1;
    int64_t total = 0;
    const char *unit;
    char percent[32];
    for (size_t i = 0; i < count; i++) {
        total += tags[i].sum;
        if (found > 0 && strcmp(texts[found - 1].text, tags[i].value) == 0)
            texts[found - 1].value += tags[i].sum;
        else
            texts[found++] = (struct go_text){tags[i].value, tags[i].sum};
    }
    if (found > 0)
        qsort(texts, found, sizeof *texts, compare_values);
    double scaled = go_scale(total, go->sample_unit, go->unit, &unit);
    go_print_clean(" ", tags[0].key, "");
    printf(": Total %.1f%s\n", scaled, unit);
    for (size_t i = 0; i < found; i++) {
        scaled = go_scale(texts[i].value, go->sample_unit, go->unit, &unit);
        if ((total > 0 ? asprintf(&cells[i], "%.1f%s (%s):", scaled, unit,
                                  go_percentage(texts[i].value, total, percent))
                       : asprintf(&cells[i], "%.1f%s:", scaled, unit)) < 0)
            compat_out_of_memory();
        if (strlen(cells[i]) > width)
            width = strlen(cells[i]);
    }
    for (size_t i = 0; i < found; i++) {
        printf("%*s%*s %s\n", (int)key + 1, "", (int)width + 1, cells[i], texts[i].text);
        free(cells[i]);
    }
    putchar('\n');
    free(cells);
    free(texts);
}

void go_print_tags(const struct go_profile *go)
{
    size_t count;
    struct tag *tags = gather_tags(go, &count);
    if (count > 0)
        qsort(tags, count, sizeof *tags, compare_tags);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(tags[end].key, tags[first].key) == 0;)
            end++;
        print_key(go, tags + first, end - first);
    }
    for (size_t i = 0; i < count; i++)
        free(tags[i].value);
    free(tags);
}

void go_print_comments(const struct go_profile *go)
{
    const uint32_t *comments = go->from->comments.items;
    for (size_t i = 0; i < go->from->comments.count; i++)
        go_print_clean("", profile_text(go->from, comments[i]), "\n");
}
