/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/check.h. All limits are judged by one function, whatever they are about: it gets
 * a value, its noise and what may be unseen, and answers passed, failed or inconclusive. A budget's
 * value is the sum over the stacks that fit its pattern.
 */
#include "tool/report/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "tool/report/diff.h"
#include "tool/report/leaks.h"
#include "tool/report/pattern.h"
#include "tool/report/question.h"

const struct check_row check_rows[CHECK_METRICS] = {
    [CHECK_LIVE] = {"live", "live at end", UNIT_BYTES, METRIC_LIVE, TYPE_INUSE_SPACE},
    [CHECK_PEAK] = {"peak", "peak", UNIT_BYTES, METRIC_PEAK, TYPE_PEAK_SPACE},
    [CHECK_ALLOC] = {"alloc", "allocated", UNIT_BYTES, METRIC_ALLOC, TYPE_ALLOC_SPACE},
    [CHECK_ALLOCS] = {"allocs", "allocations", UNIT_COUNT, METRIC_COUNT, TYPE_ALLOC_OBJECTS},
    [CHECK_CPU] = {"cpu", "CPU time", UNIT_NANOSECONDS, METRIC_CPU, TYPE_CPU},
};

struct suffix {
    const char *name;
    double factor;
};

bool check_limit_read(const char *text, enum value_unit unit, struct check_limit *limit)
{
    static const struct suffix sizes[] = {
        {"", 1},           {"b", 1},           {"k", 1024},         {"kb", 1024},
        {"kib", 1024},     {"m", 1048576},     {"mb", 1048576},     {"mib", 1048576},
        {"g", 1073741824}, {"gb", 1073741824}, {"gib", 1073741824}, {NULL, 0}};
    static const struct suffix times[] = {{"", 1e9},  {"ns", 1},     {"us", 1e3},   {"ms", 1e6},
                                          {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0}};
    char *end;
    if (strchr("+0123456789.", text[0]) == NULL || text[0] == '\0')
        return false;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0 || number > 1e18)
        return false;
    while (*end == ' ')
        end++;
    limit->relative = strcmp(end, "%") == 0;
    limit->value = number;
    const struct suffix *suffix = unit == UNIT_NANOSECONDS ? times : sizes;
    for (; suffix->name && !limit->relative; suffix++)
        if (strcasecmp(suffix->name, end) == 0) {
            limit->value = number * suffix->factor;
            return true;
        }
    return limit->relative;
}

/* Words of a line, each ended by 0; returns how many there are, up to four. */
static unsigned words_split(char *line, char *words[4])
{
    unsigned count = 0;
    for (char *save = NULL, *word = strtok_r(line, " \t\r", &save); word && count < 4;
         word = strtok_r(NULL, " \t\r", &save))
        words[count++] = word;
    return count;
}

static bool budget_line(const char *name, char *line, unsigned number, struct check_budget *budget,
                        struct view_error *error)
{
    char *words[4];
    unsigned count = words_split(line, words), metric = CHECK_LIVE;
    while (count == 3 && metric < CHECK_METRICS && strcmp(words[2], check_rows[metric].word) != 0)
        metric++;
    bool known = metric < CHECK_METRICS, time = metric == CHECK_CPU;
    *budget = (struct check_budget){.line = number, .metric = metric};
    if (count < 2 || count > 3)
        snprintf(error->text, sizeof error->text,
                 "%s:%u: a line is PATTERN LIMIT [METRIC], such as: src/net/* 8M", name, number);
    else if (strlen(words[0]) >= sizeof budget->pattern)
        snprintf(error->text, sizeof error->text, "%s:%u: the pattern is too long", name, number);
    else if (!known)
        snprintf(error->text, sizeof error->text,
                 "%s:%u: '%.40s' is no metric; accepted: live, peak, alloc, allocs, cpu", name,
                 number, words[2]);
    else if (!check_limit_read(words[1], time ? UNIT_NANOSECONDS : UNIT_BYTES, &budget->limit))
        snprintf(error->text, sizeof error->text,
                 "%s:%u: '%.40s' is no limit; accepted: %s, or 5%% with --base", name, number,
                 words[1], time ? "200ms, 1.5s" : "4096, 8M, 1.5G");
    else {
        snprintf(budget->pattern, sizeof budget->pattern, "%s", words[0]);
        return true;
    }
    return false;
}

struct check_budget *check_budget_read(const char *name, const char *text, size_t *count,
                                       struct view_error *error)
{
    struct check_budget *lines = calloc(CHECK_MAX, sizeof *lines);
    *count = 0;
    view_out_of_memory(error);
    for (unsigned number = 1; lines && *text; number++) {
        char line[1024];
        size_t whole = strcspn(text, "\n"), length = strcspn(text, "#\n");
        if (length >= sizeof line || *count == CHECK_MAX) {
            snprintf(error->text, sizeof error->text, "%s:%u: %s", name, number,
                     length >= sizeof line ? "the line is too long" : "too many lines");
            free(lines);
            return NULL;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        text += whole + (text[whole] == '\n');
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        if (!budget_line(name, line, number, &lines[*count], error)) {
            free(lines);
            return NULL;
        }
        ++*count;
    }
    return lines;
}

static bool frame_fits(const struct view_frame *frame, const char *pattern)
{
    return suppressions_match(pattern, frame->name) ||
           (frame->file[0] && suppressions_match(pattern, frame->file)) ||
           (frame->module[0] && suppressions_match(pattern, frame->module));
}

/* What one sample of the CPU clock stands for. */
static double sample_time(const struct profile *profile)
{
    int cpu = profile_type_named(profile, TYPE_CPU);
    int samples = profile_type_named(profile, TYPE_SAMPLES);
    double time = 0, count = 0;
    for (size_t i = 0; cpu >= 0 && samples >= 0 && i < profile->samples.count; i++) {
        time += (double)profile->samples.values[cpu][i];
        count += (double)profile->samples.values[samples][i];
    }
    return count > 0 ? time / count : 0;
}

double check_unseen(const struct profile *profile, enum value_unit unit)
{
    enum { BLOCK_MIN = 16 }; /* bytes */
    if (unit == UNIT_NANOSECONDS)
        return 3 * sample_time(profile);
    double bytes = profile->period > 1 ? 3 * (double)profile->period : 0;
    return unit == UNIT_COUNT ? bytes / BLOCK_MIN : bytes;
}

struct view_value check_sum(const struct view *view, const char *pattern, size_t *stacks)
{
    struct view_value sum = {0};
    *stacks = 0;
    uint8_t *known = calloc(view->frames_count + 1, 1); /* 1 no, 2 yes */
    for (size_t i = 0; known && i < view->stacks_count; i++) {
        struct view_stack stack = view_stack(view, i);
        bool fits = false;
        const uint32_t *frames = stack.frames - stack.folded; /* library code in front, too */
        for (uint32_t k = 0; k < stack.folded + stack.count && !fits; k++) {
            uint32_t frame = frames[k];
            if (known[frame] == 0)
                known[frame] = frame_fits(&view->frames[frame], pattern) ? 2 : 1;
            fits = known[frame] == 2;
        }
        if (!fits)
            continue;
        ++*stacks;
        struct view_value value = view_sum(view, i);
        view_add(&sum, &value);
    }
    free(known);
    return sum;
}

struct check_item *check_add(struct check *check, const char *name, enum value_unit unit)
{
    if (!check->items)
        check->items = calloc(CHECK_MAX, sizeof *check->items);
    if (!check->items || check->count == CHECK_MAX)
        return NULL;
    struct check_item *item = &check->items[check->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->unit = unit;
    return item;
}

void check_blame(struct check_item *item, const struct view *view)
{
    struct diff diff;
    char text[32];
    if (!diff_make(&diff, view, false))
        return;
    const struct diff_row *best = NULL;
    for (size_t i = 0; i < diff.count; i++)
        if (!best || diff.rows[i].change > best->change)
            best = &diff.rows[i];
    if (best && best->change > 0) {
        const struct view_frame *frame = &view->frames[best->frame];
        if (view->base)
            question_change(text, best->change, view->unit);
        else
            style_value(text, best->change, view->unit);
        snprintf(item->detail, sizeof item->detail, "%.120s  %s", frame->name, text);
        if (frame->file[0] != '\0')
            snprintf(item->file, sizeof item->file, "%s", frame->file);
        item->line = frame->line;
    }
    diff_free(&diff);
}

void check_judge(struct check *check, struct check_item *item)
{
    double factor = 1 + item->limit.value / 100;
    double allowed = item->limit.relative ? item->before * factor : item->limit.value;
    double noise =
        item->limit.relative ? hypot(item->noise, item->noise_before * factor) : item->noise;
    double above = noise + (item->limit.relative ? item->unseen_before * factor : 0);
    double below = noise + item->unseen, over = item->after - allowed;
    bool bounded = item->bounded && !item->limit.relative && item->max <= allowed;
    if (bounded || over <= -below) {
        item->verdict = CHECK_PASS;
    } else if (over > above) {
        item->verdict = CHECK_FAIL;
        check->failed++;
    } else {
        item->verdict = CHECK_UNSURE;
        check->unsure++;
    }
}

bool check_passes(const struct check *check)
{
    return check->failed == 0 && (!check->strict || check->unsure == 0);
}

void check_free(struct check *check)
{
    free(check->items);
    memset(check, 0, sizeof *check);
}

const char *check_word(enum check_verdict verdict)
{
    return verdict == CHECK_PASS ? "pass" : verdict == CHECK_FAIL ? "fail" : "inconclusive";
}
