/* SPDX-License-Identifier: MIT */
/*
 * See jemalloc_stats.h. The outline is jemalloc's, as a table or as JSON, for scripts that search
 * for a line or a key: settings and totals here, locks and arenas in jemalloc_stats_json.c and
 * jemalloc_stats_table.c.
 */
#include "lib/faces/jemalloc/jemalloc_stats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/jemalloc/background.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/jemalloc_report.h"
#include "lib/faces/jemalloc/jemalloc_stats_sections.h"
#include "lib/faces/jemalloc/jemalloc_tcache.h"
#include "lib/faces/jemalloc/mallctl.h"
#include "lib/heap/observer.h"

void malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options);
void je_malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options);

/* For the words of mutexes. */
#define NODE(...)
#include "lib/faces/jemalloc/mallctl.def"
#undef NODE

static bool arena_is_there(size_t number);
static void report_json(struct report *report, struct figures *figures, const char *options);
static void report_table(struct report *report, struct figures *figures, const char *options);

void jemalloc_stats(void (*write)(void *opaque, const char *text), void *opaque,
                    const char *options)
{
    struct report report = {.write = write, .opaque = opaque, .first = true};
    struct figures figures;
    options = options == NULL ? "" : options;
    report.json = strchr(options, 'J') != NULL;
    print_start(&report.text, report.buffer, sizeof report.buffer);
    figures_refresh();
    figures_of(MALLCTL_ALL, &figures);
    if (report.json)
        report_json(&report, &figures, options);
    else
        report_table(&report, &figures, options);
    flush(&report);
}

EXPORT void malloc_stats_print(void (*write)(void *, const char *), void *opaque,
                               const char *options)
{
    if (init_done())
        jemalloc_stats(write != NULL ? write : jemalloc_answer, opaque, options);
}

const char *const mutex_counters[MUTEX_COUNTERS] = {
    "num_ops",         "num_wait",      "num_spin_acq", "num_owner_switch",
    "total_wait_time", "max_wait_time", "max_num_thds"};

uint64_t stats_ask(const char *start, const char *name)
{
    char whole[96];
    struct print text;
    uint64_t value = 0;
    size_t length = sizeof value;
    print_start(&text, whole, sizeof whole);
    print_format(&text, "%s%s", start, name);
    if (mallctl_call(print_string(&text), &value, &length, NULL, 0) == EINVAL) {
        uint32_t half = 0; /* it is an unsigned */
        length = sizeof half;
        mallctl_call(print_string(&text), &half, &length, NULL, 0);
        value = half;
    }
    return value;
}

bool stats_word(const char **words, struct print *word)
{
    const char *at = *words;
    size_t length = strcspn(at, "|");
    print_bytes(word, at, length);
    *words = at + length + (at[length] == '|');
    return length > 0;
}

static void config_section(struct report *report)
{
    static const char *const flags[] = {"cache_oblivious",   "debug",  "fill",        "lazy_lock",
                                        "opt_safety_checks", "prof",   "prof_libgcc", "stats",
                                        "prof_libunwind",    "utrace", "xmalloc"};
    section(report, "Build-time option settings", "config");
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        char name[64];
        struct print text;
        bool value = false;
        size_t length = sizeof value;
        print_start(&text, name, sizeof name);
        print_format(&text, "config.%s", flags[i]);
        mallctl_call(print_string(&text), &value, &length, NULL, 0);
        flag(report, "config", flags[i], value);
    }
    key(report, "config", "malloc_conf");
    quoted(report, "");
    line_end(report);
    section_end(report);
}

/* As jemalloc has them, in quotes; -1 is a word of its own. */
static void ratio_value(struct print *out, uint32_t value)
{
    if (value == UINT32_MAX) {
        print_text(out, "\"-1\"");
        return;
    }
    print_char(out, '"');
    print_decimal(out, (uint64_t)value * 100 >> 16, 2);
    print_char(out, '"');
}

static void option_value(struct report *report, unsigned i)
{
    const struct jemalloc_value *value = &jemalloc_values[i];
    struct print *out = key(report, "opt", jemalloc_options[i].name);
    switch (jemalloc_options[i].kind) {
    case JEMALLOC_BOOL:
        print_text(out, value->number != 0 ? "true" : "false");
        break;
    case JEMALLOC_SIZE:
    case JEMALLOC_UNSIGNED:
    case JEMALLOC_U64:
        print_unsigned(out, value->number);
        break;
    case JEMALLOC_SSIZE:
    case JEMALLOC_I64:
        print_signed(out, (int64_t)value->number);
        break;
    case JEMALLOC_RATIO:
        ratio_value(out, (uint32_t)value->number);
        break;
    default:
        quoted(report, value->text == NULL ? "" : value->text);
        break;
    }
}

/* Settings that the program can change: in the table, what they are now stands behind. */
static void option_now(struct print *out, unsigned i)
{
    static const struct {
        unsigned option;
        const char *name;
    } names[] = {
        {JEMALLOC_background_thread, "background_thread"},
        {JEMALLOC_max_background_threads, "max_background_threads"},
        {JEMALLOC_dirty_decay_ms, "arenas.dirty_decay_ms"},
        {JEMALLOC_muzzy_decay_ms, "arenas.muzzy_decay_ms"},
        {JEMALLOC_prof_active, "prof.active"},
        {JEMALLOC_prof_thread_active_init, "prof.thread_active_init"},
        {JEMALLOC_lg_prof_sample, "prof.lg_sample"},
    };
    for (size_t at = 0; at < COUNT_OF(names); at++) {
        bool is_flag = jemalloc_options[i].kind == JEMALLOC_BOOL;
        int64_t value = 0;
        size_t length = is_flag ? sizeof(bool) : sizeof value;
        if (names[at].option != i || mallctl_call(names[at].name, &value, &length, NULL, 0) != 0)
            continue;
        print_format(out, " (%s: ", names[at].name);
        if (is_flag)
            print_text(out, value != 0 ? "true" : "false");
        else
            print_signed(out, value);
        print_char(out, ')');
    }
}

static void options_section(struct report *report)
{
    section(report, "Run-time option settings", "opt");
    for (unsigned i = 0; i < JEMALLOC_OPTIONS; i++)
        if (jemalloc_options[i].shown) {
            option_value(report, i);
            if (!report->json)
                option_now(&report->text, i);
            line_end(report);
        }
    section_end(report);
}

static void prof_section(struct report *report)
{
    int64_t rate = control_rate();
    section(report, "Profiling settings", "prof");
    flag(report, "prof", "thread_active_init", track_threads_active());
    flag(report, "prof", "active", control_active());
    flag(report, "prof", "gdump", jemalloc_state.gdump);
    number(report, "prof", "interval", jemalloc_state.interval_bytes);
    number(report, "prof", "lg_sample",
           rate <= 1 ? 0 : 63 - (uint64_t)__builtin_clzl((uint64_t)rate));
    section_end(report);
}

static void arenas_json(struct report *report)
{
    object_open(report, "arenas");
    number(report, "", "narenas", arenas_count());
    number(report, "", "quantum", GRANULE);
    number(report, "", "page", os_page_size());
    print_signed(key(report, "", "dirty_decay_ms"),
                 (int64_t)stats_ask("arenas.", "dirty_decay_ms"));
    print_signed(key(report, "", "muzzy_decay_ms"),
                 (int64_t)stats_ask("arenas.", "muzzy_decay_ms"));
    number(report, "", "tcache_max", tcache_round(jemalloc_values[JEMALLOC_tcache_max].number));
    number(report, "", "nbins", CLASS_LAST);
    number(report, "", "nhbins", CLASS_LAST);
    print_text(key(report, "", "bin"), "[");
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        const struct size_class *c = &size_classes[class];
        size_t span = sizes_span(c);
        print_format(next(report), "%s{\"size\":%zu,\"nregs\":%u,\"slab_size\":%zu,\"nshards\":1}",
                     class == 1 ? "" : ",", class_size(class), sizes_blocks(c, c->units_min), span);
    }
    print_text(next(report), "]");
    number(report, "", "nlextents", LARGE_SIZES);
    print_text(key(report, "", "lextent"), "[");
    for (unsigned i = 0; i < LARGE_SIZES; i++)
        print_format(next(report), "%s{\"size\":%zu}", i == 0 ? "" : ",", large_size_at(i));
    print_text(next(report), "]");
    object_close(report);
}

static void settings_table(struct report *report)
{
    print_format(next(report), "Arenas: %u\nQuantum size: %d\nPage size: %zu\n", arenas_count(),
                 GRANULE, os_page_size());
    print_format(next(report),
                 "Maximum thread-cached size class: %zu\nNumber of bin size classes: %d\n"
                 "Number of thread-cache bin size classes: %d\nNumber of large size classes: %d\n",
                 tcache_round(jemalloc_values[JEMALLOC_tcache_max].number), CLASS_LAST, CLASS_LAST,
                 LARGE_SIZES);
}

static void totals_json(struct report *report, const struct figures *figures, const char *options)
{
    struct background_sums sums = background_sums();
    object_open(report, "stats");
    number(report, "", "allocated", figures->allocated);
    number(report, "", "active", figures->active);
    number(report, "", "metadata", figures->metadata);
    number(report, "", "metadata_thp", 0);
    number(report, "", "resident", figures->resident);
    number(report, "", "mapped", figures->mapped);
    number(report, "", "retained", figures->retained);
    number(report, "", "zero_reallocs", load_relaxed(&libc_zero_reallocs));
    object_open(report, "background_thread");
    number(report, "", "num_threads", sums.threads);
    number(report, "", "num_runs", sums.runs);
    number(report, "", "run_interval", sums.interval_ns);
    object_close(report);
    if (strchr(options, 'x') == NULL)
        json_mutexes(report, "stats.mutexes.", GLOBAL_MUTEXES);
    object_close(report);
}

static void totals_table(struct report *report, const struct figures *figures, const char *options)
{
    struct background_sums sums = background_sums();
    print_format(next(report),
                 "Allocated: %zu, active: %zu, metadata: %zu (n_thp 0, edata 0, rtree 0), "
                 "resident: %zu, mapped: %zu, retained: %zu\n",
                 figures->allocated, figures->active, figures->metadata, figures->resident,
                 figures->mapped, figures->retained);
    print_format(next(report),
                 "Count of realloc(non-null-ptr, 0) calls: %lu\n"
                 "Background threads: %lu, num_runs: %lu, run_interval: %lu ns\n",
                 load_relaxed(&libc_zero_reallocs), sums.threads, sums.runs, sums.interval_ns);
    if (strchr(options, 'x') == NULL)
        table_mutexes(report, "stats.mutexes.", GLOBAL_MUTEXES,
                      stats_ask("stats.arenas.0.", "uptime"));
}

/* All arenas together, unless there is only one; those that were destroyed; and one by one.
 * `figures` is written over: with a second of them threads of 24 KiB have too little stack. */
static void each_arena(struct report *report, struct figures *figures, const char *options)
{
    unsigned count = arenas_count(), used = 1;
    for (unsigned i = 1; i < count; i++)
        used += arena_is_there(i);
    for (size_t i = 0; i < count + 2; i++) {
        size_t number = i == 0 ? MALLCTL_ALL : i == 1 ? MALLCTL_DESTROYED : i - 2;
        char without = i == 0 ? 'm' : i == 1 ? 'd' : 'a';
        if (strchr(options, without) != NULL || !figures_of(number, figures) ||
            (i == 0 && used == 1 && !report->json) ||
            (i == 1 && figures->small_allocs + figures->large_allocs == 0) ||
            (i > 2 && !arena_is_there(number)))
            continue;
        if (report->json)
            json_arena(report, number, figures, options);
        else
            table_arena(report, number, figures, options);
    }
}

static bool arena_is_there(size_t number)
{
    const struct arena *arena = arena_at(number);
    return arena != NULL && load_acquire(&arena->owner) != NULL;
}

static void report_json(struct report *report, struct figures *figures, const char *options)
{
    print_text(next(report), "{");
    object_open(report, "jemalloc");
    if (strchr(options, 'g') == NULL) {
        key(report, "", "version");
        quoted(report, JEMALLOC_COMPATIBLE_VERSION);
        config_section(report);
        options_section(report);
        prof_section(report);
        arenas_json(report);
    }
    totals_json(report, figures, options);
    object_open(report, "stats.arenas");
    each_arena(report, figures, options);
    object_close(report);
    object_close(report);
    print_text(next(report), "}\n");
}

static void report_table(struct report *report, struct figures *figures, const char *options)
{
    print_text(next(report), "___ Begin jemalloc statistics ___\n");
    if (strchr(options, 'g') == NULL) {
        print_format(next(report), "Version: \"%s\"\n", JEMALLOC_COMPATIBLE_VERSION);
        config_section(report);
        options_section(report);
        prof_section(report);
        settings_table(report);
    }
    totals_table(report, figures, options);
    each_arena(report, figures, options);
    print_text(next(report), "--- End jemalloc statistics ---\n");
}

EXPORT void je_malloc_stats_print(void (*write)(void *, const char *), void *opaque,
                                  const char *options) __attribute__((alias("malloc_stats_print")));
