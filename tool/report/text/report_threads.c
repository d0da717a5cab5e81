/* SPDX-License-Identifier: MIT */
/*
 * The answer of `memoir threads`: what each thread has of the CPU, what it has allocated and what
 * of that is live; JSON is memoir.threads/1. Threads of one name are told apart by the kernel's
 * number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"

enum { ROWS_USUAL = 40 };

/* The columns that are shown, where the profile has them: pairs of a value and how many it is. */
enum { TIME, SAMPLES, WAITED, WAITS, LIVE, LIVE_OBJECTS, ALLOCATED, ALLOCATIONS, SHOWN };

struct thread_row {
    const char *name; /* "" if it has none */
    int64_t id;       /* -1: not known */
    int64_t text;     /* the name's number; each text has one */
    int64_t values[SHOWN];
    struct spread spread[SHOWN]; /* of values of a sampled profile; those of counts are all zero */
    int64_t thread;              /* of profile_exact_thread */
};

struct threads {
    struct map known; /* rows by id and text */
    struct thread_row *rows;
    size_t count;
    int columns[SHOWN];
    bool sampled[SHOWN];
    int64_t sums[SHOWN];
};

/* Which columns there are, and room for: rates go first, then counts, then shares. */
struct columns {
    bool shown[SHOWN], error[SHOWN], rate, shares;
};

static bool threads_make(struct threads *threads, const struct view *view);
static struct thread_row *row_find(struct threads *threads, const struct profile *profile,
                                   uint32_t set);
static bool spreads_make(struct threads *threads, const struct view *view, const uint32_t *row_of);
static bool count_exactly(struct threads *threads, const struct view *view, unsigned column);
static struct view_value value_of(const struct thread_row *row, unsigned column);
static const struct profile_course *course_of(const struct profile *profile, int64_t id);
static const void *row_bytes(const void *context, uint32_t number, size_t *size);
static int row_order(const void *left, const void *right);
static void put_json(const struct view *view, const struct threads *threads,
                     const struct style *style);
static void put_csv(const struct view *view, const struct threads *threads,
                    const struct style *style);
static void put_text(const struct view *view, const struct threads *threads,
                     const struct style *style);
static void put_name(const struct thread_row *row, const struct style *style);
static void put_courses(const struct view *view, const struct threads *threads,
                        const struct style *style, size_t max);
static struct columns columns_choose(const struct threads *threads, const struct style *style,
                                     double seconds);
static size_t threads_count(const struct threads *threads);
static bool are_known(const struct threads *threads);
static const char *column_word(const struct view *view, const struct threads *threads, unsigned k);
static const char *column_type(const struct view *view, const struct threads *threads, unsigned k);

void report_threads(const struct view *view, const struct style *style)
{
    struct threads threads;
    if (!threads_make(&threads, view)) {
        shortage_note();
        return;
    }
    if (style->format == STYLE_JSON)
        put_json(view, &threads, style);
    else if (style->format == STYLE_CSV)
        put_csv(view, &threads, style);
    else
        put_text(view, &threads, style);
    free(threads.rows);
}

static bool threads_make(struct threads *threads, const struct view *view)
{
    static const char *const names[SHOWN] = {
        TYPE_CPU,         TYPE_SAMPLES,       TYPE_DELAY,       TYPE_CONTENTIONS,
        TYPE_INUSE_SPACE, TYPE_INUSE_OBJECTS, TYPE_ALLOC_SPACE, TYPE_ALLOC_OBJECTS};
    const struct profile *profile = view->profile;
    const struct profile_samples *samples = &profile->samples;
    uint32_t *row_of = calloc(profile->label_sets.count + 1, sizeof *row_of);
    *threads = (struct threads){0};
    threads->rows = calloc(profile->label_sets.count + 2, sizeof *threads->rows);
    bool any = false;
    for (unsigned i = 0; i < SHOWN; i++) {
        threads->columns[i] = profile_type_named(profile, names[i]);
        any |= threads->columns[i] >= 0;
    }
    if (threads->columns[TIME] < 0)
        threads->columns[TIME] = profile_type_named(profile, TYPE_WALL);
    if (!any) {
        threads->columns[TIME] = (int)view->options.type;
        threads->columns[SAMPLES] = profile_type_partner(profile, view->options.type);
    }
    if (!threads->rows || !row_of) {
        free(threads->rows);
        free(row_of);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < samples->count && ok; i++) {
        uint32_t set = samples->label_sets[i];
        if (question_stack(view, i) == UINT32_MAX)
            continue;
        struct thread_row *row =
            row_of[set] ? &threads->rows[row_of[set] - 1] : row_find(threads, profile, set);
        ok = row != NULL;
        row_of[set] = ok ? (uint32_t)(row - threads->rows) + 1 : 0;
        double share = filter_age_share(&view->options, profile, i);
        for (unsigned k = 0; k < SHOWN && ok; k++)
            if (threads->columns[k] >= 0) {
                int64_t value = samples->values[threads->columns[k]][i];
                if (share < 1 && k >= LIVE) /* live blocks have no age at their end */
                    value = k < ALLOCATED ? 0 : llround((double)value * share);
                row->values[k] += value;
                threads->sums[k] += value;
            }
    }
    ok = ok && spreads_make(threads, view, row_of);
    for (unsigned k = LIVE; k <= ALLOCATIONS; k++)
        ok = ok && count_exactly(threads, view, k);
    free(row_of);
    map_free(&threads->known);
    qsort(threads->rows, threads->count, sizeof *threads->rows, row_order);
    if (!ok)
        free(threads->rows);
    return ok;
}

/* How far estimates may be from the truth; counted values have no error. */
static bool spreads_make(struct threads *threads, const struct view *view, const uint32_t *row_of)
{
    const struct profile *profile = view->profile;
    for (unsigned k = 0; k < SHOWN; k += 2) {
        struct spread_classes classes;
        int type = threads->columns[k], partner = threads->columns[k + 1];
        threads->sampled[k] =
            type >= 0 && k != WAITED &&
            (profile->samples.weights || profile_type_timed(profile, (unsigned)type));
        if (!threads->sampled[k])
            continue;
        if (!spread_start(&classes, profile, type, partner))
            return false;
        for (size_t i = 0; i < profile->samples.count; i++) {
            uint32_t set = profile->samples.label_sets[i];
            if (question_stack(view, i) == UINT32_MAX)
                continue;
            double share = filter_age_share(&view->options, profile, i);
            share = k == LIVE && share < 1 ? 0 : share;
            struct spread_sample sample = spread_sample(profile, type, partner, i);
            struct spread more = spread_of(&classes, &sample, set, share);
            spread_add(&threads->rows[row_of[set] - 1].spread[k], &more);
        }
        spread_free(&classes);
    }
    return true;
}

/* Without a filter, a row is all that its thread has allocated. */
static bool count_exactly(struct threads *threads, const struct view *view, unsigned column)
{
    int type = threads->columns[column];
    if (type < 0 || !threads->sampled[ALLOCATED] || view->kept != view->profile->samples.count ||
        view->options.age_min_us > 0 || view->options.age_max_us > 0)
        return true;
    struct exact_row *rows = calloc(threads->count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < threads->count; i++)
        rows[i] =
            (struct exact_row){threads->rows[i].thread, threads->rows[i].values[column], false};
    bool exact = rows && profile_exact_threads(view->profile, column_type(view, threads, column),
                                               rows, threads->count);
    for (size_t i = 0; exact && i < threads->count; i++) {
        threads->rows[i].values[column] = rows[i].value;
        if (rows[i].exact)
            threads->rows[i].spread[column] = (struct spread){0};
    }
    free(rows);
    return rows != NULL;
}

static struct view_value value_of(const struct thread_row *row, unsigned column)
{
    return (struct view_value){.value = row->values[column],
                               .variance = spread_variance(&row->spread[column])};
}

/* By label set of the profile: which row; made when it is first met. NULL when memory is out. */
static struct thread_row *row_find(struct threads *threads, const struct profile *profile,
                                   uint32_t set)
{
    const struct profile_label *name = profile_label_of(profile, set, "thread");
    const struct profile_label *id = profile_label_of(profile, set, "tid"); /* of captures */
    if (!id)
        id = profile_label_of(profile, set, "thread_id");
    struct thread_row key = {.name = "", .id = -1, .thread = profile_exact_thread(profile, set)};
    if (name && name->text) {
        key.name = profile_text(profile, name->text);
        key.text = name->text;
    }
    if (id)
        key.id = id->text ? strtoll(profile_text(profile, id->text), NULL, 10) : id->number;
    else if (name && !name->text)
        key.id = name->number;
    uint32_t number;
    if (!map_find(&threads->known, threads, row_bytes, &key.id, 2 * sizeof key.id, &number))
        return NULL;
    if (number != MAP_NONE)
        return &threads->rows[number];
    map_add(&threads->known, (uint32_t)threads->count);
    threads->rows[threads->count] = key;
    return &threads->rows[threads->count++];
}

static const void *row_bytes(const void *context, uint32_t number, size_t *size)
{
    const struct threads *threads = context;
    *size = sizeof threads->rows->id + sizeof threads->rows->text;
    return &threads->rows[number].id;
}

static int row_order(const void *left, const void *right)
{
    const struct thread_row *a = left, *b = right;
    for (unsigned i = 0; i < SHOWN; i++)
        if (a->values[i] != b->values[i])
            return a->values[i] > b->values[i] ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* When it ran. */
static void put_json_course(struct json *json, const struct profile_course *course)
{
    if (!course)
        return;
    json_object(json, "course");
    json_number(json, "width_ms", course->width_ms);
    json_array(json, "us");
    for (unsigned i = 0; i < course->count; i++)
        json_number(json, NULL, course->us[i]);
    json_end(json);
    json_end(json);
}

static void put_json(const struct view *view, const struct threads *threads,
                     const struct style *style)
{
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    table_json_head(&json, view, style, "memoir.threads/1");
    json_real(&json, "seconds", question_seconds(view->profile));
    json_array(&json, "threads");
    for (size_t i = 0; i < threads->count; i++) {
        const struct thread_row *row = &threads->rows[i];
        json_object(&json, NULL);
        json_text(&json, "name", row->name);
        json_number(&json, "id", row->id);
        for (unsigned k = 0; k < SHOWN; k++) {
            char error[64];
            if (threads->columns[k] < 0)
                continue;
            const char *type = column_type(view, threads, k);
            json_number(&json, type, row->values[k]);
            struct view_value value = value_of(row, k);
            snprintf(error, sizeof error, "%s_error", type);
            if (threads->sampled[k])
                json_real(&json, error, view_error_share(value.value, value.variance));
        }
        put_json_course(&json, course_of(view->profile, row->id));
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputs("\n", style->out);
}

static void put_csv(const struct view *view, const struct threads *threads,
                    const struct style *style)
{
    fputs("thread,id", style->out);
    for (unsigned k = 0; k < SHOWN; k++)
        if (threads->columns[k] >= 0)
            fprintf(style->out, ",%s", column_type(view, threads, k));
    fputs("\n", style->out);
    for (size_t i = 0; i < threads->count; i++) {
        question_field(style, threads->rows[i].name, ',');
        fprintf(style->out, "%lld", (long long)threads->rows[i].id);
        for (unsigned k = 0; k < SHOWN; k++)
            if (threads->columns[k] >= 0)
                fprintf(style->out, ",%lld", (long long)threads->rows[i].values[k]);
        fputs("\n", style->out);
    }
}

static void put_text(const struct view *view, const struct threads *threads,
                     const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : ROWS_USUAL;
    double seconds = question_seconds(view->profile);
    struct columns columns = columns_choose(threads, style, seconds);
    char text[32], share[16];
    size_t count = threads_count(threads);
    if (threads->count > 0 && !are_known(threads)) {
        fprintf(style->out, "%s does not tell which thread was which.\n",
                style->name ? style->name : "?");
        return;
    }
    fprintf(style->out, "%s    %zu %s\n", style->name ? style->name : "?", count,
            count == 1 ? "thread" : "threads");
    if (threads->count == 0)
        return;
    for (unsigned k = 0; k < SHOWN; k++)
        if (columns.shown[k])
            fprintf(style->out, "%12s%*s", column_word(view, threads, k),
                    (int)((columns.error[k] ? table_error_width(style) : 0) +
                          (k % 2 || !columns.shares ? 0 : 7)),
                    "");
    fprintf(style->out, "%s  thread\n", columns.rate ? "         /s" : "");
    for (size_t i = 0; i < threads->count && i < max; i++) {
        const struct thread_row *row = &threads->rows[i];
        for (unsigned k = 0; k < SHOWN; k++) {
            if (!columns.shown[k])
                continue;
            double sum = (double)threads->sums[k];
            enum value_unit unit =
                profile_unit(view->profile, view->profile->type[threads->columns[k]]);
            style_value(text, (double)row->values[k], unit);
            if (k % 2 == 0) {
                struct view_value value = value_of(row, k);
                style_heat(style, sum > 0 ? (double)row->values[k] / sum : 0, text, 12);
                if (columns.error[k])
                    table_error(style, &value);
                if (columns.shares)
                    fprintf(style->out, "%7s", style_share(share, (double)row->values[k], sum));
            } else {
                question_pad(style, text, 12);
            }
        }
        if (columns.rate)
            question_pad(style,
                         style_value(text, (double)row->values[ALLOCATIONS] / seconds, UNIT_COUNT),
                         11);
        put_name(row, style);
    }
    if (threads->count > max)
        fprintf(style->out, "  %s %zu more threads\n", question_glyph(style, "…", "..."),
                threads->count - max);
    put_courses(view, threads, style, max);
}

static const struct profile_course *course_of(const struct profile *profile, int64_t id)
{
    const struct profile_course *courses = profile->courses.items;
    for (size_t i = profile->courses.count; i-- > 0;) /* the kernel may use a number again */
        if ((int64_t)courses[i].id == id)
            return &courses[i];
    return NULL;
}

/* The width of a part in all lines, and how many there are. */
static uint32_t courses_width(const struct profile *profile, unsigned *count)
{
    const struct profile_course *courses = profile->courses.items;
    uint32_t width_ms = 0;
    *count = 0;
    for (size_t i = 0; i < profile->courses.count; i++)
        width_ms = courses[i].width_ms > width_ms ? courses[i].width_ms : width_ms;
    for (size_t i = 0; width_ms > 0 && i < profile->courses.count; i++) {
        uint64_t end = ((uint64_t)courses[i].count * courses[i].width_ms + width_ms - 1) / width_ms;
        *count = end > *count ? (unsigned)end : *count;
    }
    *count = *count < PROFILE_COURSE_MAX ? *count : PROFILE_COURSE_MAX;
    return width_ms;
}

/* Which thread ran when: a line for each, as high as its share of a CPU. */
static void put_courses(const struct view *view, const struct threads *threads,
                        const struct style *style, size_t max)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {" ", "_", ".", "-", "~", "=", "+", "*", "#"};
    unsigned count;
    uint32_t width_ms = courses_width(view->profile, &count);
    char text[32];
    if (width_ms == 0)
        return;
    style_value(text, (double)width_ms * 1e6, UNIT_NANOSECONDS);
    fprintf(style->out, "\nwhich thread ran when: %s a column, full height is one CPU\n", text);
    for (size_t i = 0; i < threads->count && i < max; i++) {
        const struct profile_course *course = course_of(view->profile, threads->rows[i].id);
        double us[PROFILE_COURSE_MAX] = {0};
        if (!course)
            continue;
        for (unsigned k = 0; k < course->count; k++) {
            uint64_t at = (uint64_t)k * course->width_ms / width_ms;
            us[at < count ? at : count - 1] += course->us[k];
        }
        fputs("  ", style->out);
        for (unsigned k = 0; k < count; k++) {
            int level = (int)ceil(us[k] / (width_ms * 1000.0) * 8);
            fputs((style->utf8 ? blocks : letters)[level > 8 ? 8 : level], style->out);
        }
        put_name(&threads->rows[i], style);
    }
}

static void put_name(const struct thread_row *row, const struct style *style)
{
    char name[128];
    snprintf(name, sizeof name, "%s", row->name[0] ? row->name : "(no name)");
    style_clean(name);
    fprintf(style->out, "  %s", name);
    if (row->id >= 0)
        fprintf(style->out, "  %lld", (long long)row->id);
    fputs("\n", style->out);
}

static struct columns columns_choose(const struct threads *threads, const struct style *style,
                                     double seconds)
{
    enum { VALUE = 12, SHARE = 7, RATE = 11, NAME = 18 };
    struct columns columns = {.shares = true,
                              .rate = seconds > 0 && threads->columns[ALLOCATIONS] >= 0};
    unsigned used = NAME + (columns.rate ? RATE : 0);
    for (unsigned k = 0; k < SHOWN; k++) {
        columns.shown[k] = threads->columns[k] >= 0;
        if (k == SAMPLES && threads->columns[ALLOCATED] >= 0)
            columns.shown[k] = false; /* the table has enough columns */
        columns.error[k] = columns.shown[k] && threads->sampled[k];
        used += !columns.shown[k] ? 0 : VALUE + (k % 2 ? 0 : SHARE);
        used += columns.error[k] ? table_error_width(style) : 0;
    }
    if (style->fits && used > style->width && columns.rate) {
        columns.rate = false;
        used -= RATE;
    }
    for (unsigned k = 1; k < SHOWN && style->fits && used > style->width; k += 2) {
        used -= columns.shown[k] ? VALUE : 0;
        columns.shown[k] = false;
    }
    columns.shares = !style->fits || used <= style->width;
    for (unsigned k = 0; k < SHOWN && !columns.shares; k += 2)
        used -= columns.shown[k] ? SHARE : 0;
    if (style->fits && used > style->width)
        memset(columns.error, 0, sizeof columns.error);
    return columns;
}

/* Without rows that are no thread. */
static size_t threads_count(const struct threads *threads)
{
    size_t count = 0;
    for (size_t i = 0; i < threads->count; i++)
        count += strcmp(threads->rows[i].name, PROFILE_NOT_SAMPLED) != 0 &&
                 strcmp(threads->rows[i].name, PROFILE_OTHER_THREADS) != 0;
    return count;
}

/* Whether some row says which thread it is. */
static bool are_known(const struct threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->rows[i].name[0] || threads->rows[i].id >= 0)
            return true;
    return false;
}

static const char *column_word(const struct view *view, const struct threads *threads, unsigned k)
{
    static const char *const words[SHOWN] = {"",     "",        "lock wait", "waits",
                                             "live", "objects", "allocated", "allocations"};
    if (k < WAITED)
        return column_type(view, threads, k);
    return k < SHOWN ? words[k] : "";
}

static const char *column_type(const struct view *view, const struct threads *threads, unsigned k)
{
    return profile_text(view->profile, view->profile->type[threads->columns[k]].name);
}
