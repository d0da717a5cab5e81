/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/exact.h. By thread: a capture has the counters of each thread's heap (record
 * THREAD_COUNTS). They take the place of what samples say of threads, which may be several times
 * too much or too little where a thread has few samples. What of a thread's memory is live is an
 * estimate, but never more than it has allocated. Sites keep their estimates: it is not counted
 * which of them a thread's memory belongs to.
 */
#include "tool/profile/exact.h"

#include <stdlib.h>
#include <string.h>

/* By the kernel's tid, which several threads may have had. */
struct counted {
    int64_t id, value;
    size_t rows; /* that have it */
    bool known;
};

static bool is_of_blocks(const char *type, bool *bytes);
static int64_t column_sum(const struct profile *profile, const char *type);
static int id_order(const void *left, const void *right);
static size_t counts_make(struct counted *list, const struct profile *profile, bool bytes);
static void rows_count(struct exact_row *rows, size_t count, struct counted *list, size_t listed);
static void rows_bound(struct exact_row *rows, size_t count, struct counted *list, size_t listed,
                       struct exact_row *rest);
static void rows_fit(struct exact_row *rows, size_t count, bool exact, int64_t sum);
static int64_t rows_sum(const struct exact_row *rows, size_t count, bool exact);

int64_t profile_exact(const struct profile *profile, const char *type)
{
    bool counted = profile->exact_allocs >= 0 && profile->exact_frees >= 0;
    if (profile->counted &&
        profile_type_blocks(type) == BLOCKS_AT_PEAK) /* samples are scaled to counters */
        return column_sum(profile, type);
    if (strcmp(type, TYPE_ALLOC_OBJECTS) == 0)
        return profile->exact_allocs;
    if (strcmp(type, TYPE_ALLOC_SPACE) == 0)
        return profile->exact_alloc_bytes;
    if (profile->at_peak) /* the counters are those of the end */
        return -1;
    if (strcmp(type, TYPE_INUSE_SPACE) == 0)
        return profile->exact_live_bytes;
    if (strcmp(type, TYPE_INUSE_OBJECTS) == 0 && counted)
        return profile->exact_allocs - profile->exact_frees;
    return -1;
}

static int64_t column_sum(const struct profile *profile, const char *type)
{
    int column = profile_type_named(profile, type);
    int64_t sum = 0;
    for (size_t i = 0; column >= 0 && i < profile->samples.count; i++)
        sum += profile->samples.values[column][i];
    return column >= 0 ? sum : -1;
}

int64_t profile_exact_thread(const struct profile *profile, uint32_t label_set)
{
    const struct profile_label *id = profile_label_of(profile, label_set, "tid");
    const struct profile_label *name = profile_label_of(profile, label_set, "thread");
    if (profile_not_sampled(profile, label_set))
        return EXACT_REST;
    if (name && strcmp(profile_text(profile, name->text), PROFILE_OTHER_THREADS) == 0)
        return EXACT_OTHER;
    return id && id->text == 0 ? id->number : EXACT_UNKNOWN;
}

bool profile_exact_threads(const struct profile *profile, const char *type, struct exact_row *rows,
                           size_t count)
{
    bool bytes;
    size_t rest = 0;
    while (rest < count && rows[rest].id != EXACT_REST)
        rest++;
    if (!profile->counted || rest == count || !is_of_blocks(type, &bytes))
        return false;
    struct counted *list = calloc(profile->threads.count + 1, sizeof *list);
    size_t listed = list ? counts_make(list, profile, bytes) : 0;
    if (listed == 0) {
        free(list);
        return false;
    }
    if (profile_type_blocks(type) != BLOCKS_ALLOCATED) {
        rows_bound(rows, count, list, listed, &rows[rest]);
        free(list);
        return true;
    }
    int64_t sum = rows_sum(rows, count, false);
    rows[rest].value = 0;
    rows_count(rows, count, list, listed);
    free(list);
    /* Threads were asked one after the other, while they went on. */
    rows_fit(rows, count, true, sum);
    int64_t left = sum - rows_sum(rows, count, true);
    rows_fit(rows, count, false, left);
    rows[rest].value = left - rows_sum(rows, count, false);
    return true;
}

static bool is_of_blocks(const char *type, bool *bytes)
{
    const char *unit = strchr(type, '_');
    *bytes = unit && strcmp(unit, "_space") == 0;
    return profile_type_blocks(type) != BLOCKS_OTHER &&
           (*bytes || (unit && strcmp(unit, "_objects") == 0));
}

/* What is known of each thread, and of others. */
static size_t counts_make(struct counted *list, const struct profile *profile, bool bytes)
{
    const struct profile_thread *threads = profile->threads.items, *other = &profile->other_threads;
    size_t count = 0, kept = 0;
    bool any = false;
    for (size_t i = 0; i < profile->threads.count; i++) {
        int64_t value = bytes ? threads[i].alloc_bytes : threads[i].alloc_objects;
        list[count++] = (struct counted){(int64_t)threads[i].id, value, 0, threads[i].counted};
        any |= threads[i].counted;
    }
    qsort(list, count, sizeof *list, id_order);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || list[kept - 1].id != list[i].id) {
            list[kept++] = list[i];
            continue;
        }
        list[kept - 1].known &=
            list[i].known &&
            !__builtin_add_overflow(list[kept - 1].value, list[i].value, &list[kept - 1].value);
    }
    /* Behind all, though its number is the lowest. */
    list[kept++] = (struct counted){EXACT_OTHER, bytes ? other->alloc_bytes : other->alloc_objects,
                                    0, other->counted};
    return any ? kept : 0;
}

static int id_order(const void *left, const void *right)
{
    const struct counted *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static struct counted *counted_find(struct counted *list, size_t listed, int64_t id)
{
    struct counted key = {.id = id};
    return id == EXACT_OTHER ? &list[listed - 1]
                             : bsearch(&key, list, listed - 1, sizeof *list, id_order);
}

static void rows_count(struct exact_row *rows, size_t count, struct counted *list, size_t listed)
{
    for (size_t i = 0; i < count; i++) {
        struct counted *of = counted_find(list, listed, rows[i].id);
        if (of)
            of->rows++;
    }
    for (size_t i = 0; i < count; i++) {
        const struct counted *of = counted_find(list, listed, rows[i].id);
        rows[i].exact = of && of->known && of->rows == 1;
        if (rows[i].exact)
            rows[i].value = of->value;
    }
}

/* What samples say of a thread is at most what the thread has allocated. */
static void rows_bound(struct exact_row *rows, size_t count, struct counted *list, size_t listed,
                       struct exact_row *rest)
{
    for (size_t i = 0; i < count; i++) {
        const struct counted *of = counted_find(list, listed, rows[i].id);
        if (!of || !of->known || rows[i].value <= of->value)
            continue;
        rest->value += rows[i].value - of->value; /* their sum is one of the profile's columns */
        rows[i].value = of->value;
    }
}

/* Values that are too large for the sum are made smaller, all by one factor. */
static void rows_fit(struct exact_row *rows, size_t count, bool exact, int64_t sum)
{
    static const double less = 1 - 1e-12; /* rounding must not make them larger again */
    int64_t is = rows_sum(rows, count, exact);
    for (size_t i = 0; i < count && is > sum; i++)
        if (rows[i].exact == exact)
            rows[i].value = (int64_t)((double)rows[i].value / (double)is * (double)sum * less);
}

static int64_t rows_sum(const struct exact_row *rows, size_t count, bool exact)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].exact == exact && __builtin_add_overflow(sum, rows[i].value, &sum))
            return INT64_MAX; /* in a hostile file */
    return sum;
}
