/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's dumps:
 *
 *      heap_v2/524288
 *        t*: 12: 49152 [0: 0]
 *        t0: 12: 49152 [0: 0] name of the thread
 *      @ 0x55d0c0de1234 0x7f00c0ffee00
 *        t*: 12: 49152 [0: 0]
 *        t0: 12: 49152 [0: 0]
 *      MAPPED_LIBRARIES:
 *
 * Live objects and bytes; in brackets all that were allocated, or 0 where that was not counted.
 * The numbers are samples. A stack's estimate is that of its line for all threads, which is what
 * jeprof shows; its threads share it in proportion to their own estimates, so that the sum over
 * threads is the same number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

enum { LIVE_OBJECTS, LIVE_BYTES, ALL_OBJECTS, ALL_BYTES, COLUMNS };
enum { EVERY_THREAD = -1 };

struct row {
    int64_t thread; /* or EVERY_THREAD */
    uint64_t seen[COLUMNS];
    double estimate[COLUMNS], weight;
};

struct thread {
    int64_t id;
    uint32_t name;
};

struct reading {
    const struct read_input *input;
    struct profile *profile;
    struct read_error *error;
    struct text text;
    double rate;
    int64_t only;        /* a thread's number, or EVERY_THREAD */
    uint32_t only_name;  /* threads of this name; 0: any */
    bool has_all;        /* the brackets have something */
    struct list threads; /* struct thread, by number */
    struct list rows;    /* struct row: of the stack at hand */
    struct text_stack stack;
};

/* tN: or t*:, and the four numbers. */
static bool take_row(struct reading *it, struct text *line, struct row *row)
{
    uint64_t thread;
    const char *start = line->at;
    memset(row, 0, sizeof *row);
    if (!text_word(line, "t"))
        return read_refuse_at(it->error, it->input, start,
                              "a line is neither a stack nor the numbers of a thread");
    if (text_word(line, "*"))
        row->thread = EVERY_THREAD;
    else if (text_number(line, &thread) && thread <= INT64_MAX)
        row->thread = (int64_t)thread;
    else
        return read_refuse_at(it->error, it->input, line->at, "the number of a thread is missing");
    static const char *const before[COLUMNS] = {":", ":", "[", ":"};
    for (unsigned i = 0; i < COLUMNS; i++) {
        text_blank(line);
        if (!text_word(line, before[i]))
            return read_refuse_at(it->error, it->input, line->at,
                                  "the numbers of a thread do not have the form N: N [N: N]");
        text_blank(line);
        if (!text_number(line, &row->seen[i]) || row->seen[i] > INT64_MAX)
            return read_refuse_at(it->error, it->input, line->at,
                                  "a number is missing or has more than 63 bits");
    }
    text_blank(line);
    if (!text_word(line, "]"))
        return read_refuse_at(it->error, it->input, line->at, "a bracket is missing");
    text_trim(line);
    return true;
}

static int compare_threads(const void *a, const void *b)
{
    int64_t left = ((const struct thread *)a)->id, right = ((const struct thread *)b)->id;
    return left < right ? -1 : left > right;
}

static const struct thread *find_thread(const struct reading *it, int64_t id)
{
    struct thread wanted = {.id = id};
    return it->threads.count == 0 ? NULL
                                  : bsearch(&wanted, it->threads.items, it->threads.count,
                                            sizeof wanted, compare_threads);
}

/* The first line and the sums of threads, up to the first stack. */
static bool read_head(struct reading *it)
{
    struct text line, before;
    uint64_t rate;
    struct row row;
    text_line(&it->text, &line);
    if (!text_word(&line, "heap_v2/") || !text_number(&line, &rate))
        return read_refuse_at(it->error, it->input, line.at,
                              "the sampling rate after heap_v2/ is missing");
    it->rate = it->input->options.raw ? 1 : (double)rate;
    it->profile->period = rate <= 1 ? 0 : rate > INT64_MAX ? INT64_MAX : (int64_t)rate;
    for (before = it->text; text_line(&it->text, &line); before = it->text) {
        text_trim(&line);
        if (text_starts(&line, "@"))
            break;
        if (line.at == line.end)
            continue;
        if (!take_row(it, &line, &row))
            return false;
        if (row.thread == EVERY_THREAD) {
            it->has_all |= row.seen[ALL_OBJECTS] > 0 || row.seen[ALL_BYTES] > 0;
            continue;
        }
        struct thread *thread = profile_list_add(it->profile, &it->threads, sizeof(struct thread));
        if (!thread)
            return false;
        thread->id = row.thread;
        thread->name = profile_string(it->profile, line.at, (size_t)(line.end - line.at));
    }
    it->text = before;
    if (it->threads.count > 0)
        qsort(it->threads.items, it->threads.count, sizeof(struct thread), compare_threads);
    return true;
}

/* options.thread: 3, t3 or the thread's name. */
static bool choose_thread(struct reading *it)
{
    const char *wanted = it->input->options.thread;
    it->only = EVERY_THREAD;
    if (!wanted || strcmp(wanted, "*") == 0)
        return true;
    struct text word = {wanted, wanted + strlen(wanted)};
    uint64_t number;
    text_word(&word, "t");
    if (text_number(&word, &number) && word.at == word.end && find_thread(it, (int64_t)number)) {
        it->only = (int64_t)number;
        return true;
    }
    const struct thread *threads = it->threads.items;
    for (size_t i = 0; i < it->threads.count; i++)
        if (strcmp(profile_text(it->profile, threads[i].name), wanted) == 0) {
            it->only_name = threads[i].name; /* there may be many of that name */
            return true;
        }
    if (it->threads.count == 0)
        return read_refuse(it->error, 0, "no thread %s: the file does not distinguish threads",
                           wanted);
    return read_refuse(it->error, 0, "no thread %s among the %zu of the file, from t%lld to t%lld",
                       wanted, it->threads.count, (long long)threads[0].id,
                       (long long)threads[it->threads.count - 1].id);
}

static uint32_t thread_labels(struct reading *it, int64_t id)
{
    struct profile *profile = it->profile;
    const struct thread *thread = find_thread(it, id);
    struct profile_label labels[2] = {{0}, {0}};
    char unnamed[32];
    if (id == EVERY_THREAD)
        return 0;
    snprintf(unnamed, sizeof unnamed, "t%lld", (long long)id);
    labels[0].key = profile_string_of(profile, "thread");
    labels[0].text =
        thread && thread->name != 0 ? thread->name : profile_string_of(profile, unnamed);
    labels[1].key = profile_string_of(profile, "thread_id");
    labels[1].number = id;
    return profile_label_set(profile, labels, 2);
}

static bool all_threads(const struct reading *it)
{
    return it->only == EVERY_THREAD && it->only_name == 0;
}

static bool is_chosen(const struct reading *it, int64_t id)
{
    const struct thread *thread = it->only_name == 0 ? NULL : find_thread(it, id);
    return all_threads(it) || (it->only >= 0 && id == it->only) ||
           (thread && thread->name == it->only_name);
}

static void estimate(struct reading *it, struct row *row)
{
    double live = unsample_weight((double)row->seen[LIVE_OBJECTS], (double)row->seen[LIVE_BYTES],
                                  it->rate),
           all = unsample_weight((double)row->seen[ALL_OBJECTS], (double)row->seen[ALL_BYTES],
                                 it->rate);
    for (unsigned i = 0; i < COLUMNS; i++)
        row->estimate[i] = (double)row->seen[i] * (i < ALL_OBJECTS ? live : all);
    row->weight = row->seen[LIVE_OBJECTS] > 0 ? live : all;
}

static void add_sample(struct reading *it, uint32_t stack, const struct row *row,
                       const int64_t values[COLUMNS])
{
    struct profile *profile = it->profile;
    size_t at = profile_sample(profile, stack, thread_labels(it, row->thread));
    if (profile->failed)
        return;
    unsigned live = it->has_all ? 2 : 0;
    for (unsigned i = 0; i < 2; i++) {
        if (it->has_all)
            profile->samples.values[i][at] = values[ALL_OBJECTS + i];
        profile->samples.values[live + i][at] = values[LIVE_OBJECTS + i];
    }
    if (profile->samples.weights)
        profile->samples.weights[at] = (float)row->weight;
}

/* The rows of a stack are there: one sample for each thread, or one for all. */
static void add_stack(struct reading *it, uint32_t stack)
{
    struct row *rows = it->rows.items, *every = NULL;
    double sum[COLUMNS] = {0}, before[COLUMNS] = {0};
    for (size_t i = 0; i < it->rows.count; i++) {
        estimate(it, &rows[i]);
        if (rows[i].thread == EVERY_THREAD)
            every = &rows[i];
        else
            for (unsigned k = 0; k < COLUMNS; k++)
                sum[k] += rows[i].estimate[k];
    }
    int64_t left[COLUMNS] = {0}, values[COLUMNS];
    for (unsigned k = 0; k < COLUMNS && every; k++)
        left[k] = unsample_round(every->estimate[k]);
    for (size_t i = 0; i < it->rows.count; i++) {
        if (rows[i].thread == EVERY_THREAD || !is_chosen(it, rows[i].thread))
            continue;
        for (unsigned k = 0; k < COLUMNS; k++) {
            values[k] = unsample_round(rows[i].estimate[k]);
            if (!every || !all_threads(it) || sum[k] == 0)
                continue;
            double all = (double)unsample_round(every->estimate[k]), share = all / sum[k];
            values[k] = unsample_round((before[k] + rows[i].estimate[k]) * share) -
                        unsample_round(before[k] * share);
            before[k] += rows[i].estimate[k];
            left[k] -= values[k];
        }
        add_sample(it, stack, &rows[i], values);
    }
    if (every && all_threads(it) && (left[0] | left[1] | left[2] | left[3]) != 0)
        add_sample(it, stack, every, left);
    it->rows.count = 0;
}

static bool read_stacks(struct reading *it)
{
    struct text line;
    bool open = false;
    uint32_t stack = 0;
    while (text_line(&it->text, &line) && !it->profile->failed) {
        if (line.end == it->input->bytes + it->input->size) {
            it->profile->torn = true; /* cut inside of a line */
            break;
        }
        text_trim(&line);
        if (text_word(&line, "@")) {
            add_stack(it, stack);
            if (!text_stack(it->profile, &line, &it->stack, &stack))
                return read_refuse_at(it->error, it->input, line.at, "a stack without an address");
            open = true;
        } else if (line.at < line.end) {
            struct row row, *place;
            if (!take_row(it, &line, &row))
                return false;
            if (!open)
                return read_refuse_at(it->error, it->input, line.at, "numbers without a stack");
            if ((place = profile_list_add(it->profile, &it->rows, sizeof row)) != NULL)
                *place = row;
        }
    }
    add_stack(it, stack);
    return true;
}

static void prepare(struct reading *it)
{
    struct profile *profile = it->profile;
    profile->kind = PROFILE_HEAP;
    if (it->has_all) {
        profile_type(profile, TYPE_ALLOC_OBJECTS, UNIT_COUNT);
        profile_type(profile, TYPE_ALLOC_SPACE, UNIT_BYTES);
    }
    profile_type(profile, TYPE_INUSE_OBJECTS, UNIT_COUNT);
    profile->default_type = profile_type(profile, TYPE_INUSE_SPACE, UNIT_BYTES);
    profile->period_type = profile_type_make(profile, TYPE_SPACE, UNIT_BYTES);
    if (it->rate > 1)
        profile_want_weights(profile);
}

static bool is(const struct read_input *input)
{
    struct text text = text_of(input);
    return text_starts(&text, "heap_v2/");
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.input = input, .profile = profile, .error = error};
    it.text = text_of(input);
    text_mappings(profile, &it.text);
    if (it.text.end == input->bytes + input->size) {
        profile->torn = true;
        profile_warn(profile, "the list of mappings is missing: the file ends early");
    }
    bool done = read_head(&it) && choose_thread(&it);
    if (done) {
        prepare(&it);
        done = read_stacks(&it);
    }
    free(it.threads.items);
    free(it.rows.items);
    free(it.stack.locations);
    return done;
}

const struct reader reader_jemalloc = {
    .name = "jemalloc heap", .is = is, .read = read, .traits = TRAIT_DUMP | TRAIT_THREAD};
