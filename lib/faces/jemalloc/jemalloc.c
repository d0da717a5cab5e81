/* SPDX-License-Identifier: MIT */
/*
 * See jemalloc.h: what jemalloc's options do here, its dumps, and its leak report. Options
 * that are not mentioned are accepted and do nothing (docs/COMPATIBILITY.md has the list).
 */
#include "lib/faces/jemalloc/jemalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/file/recorder_format.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/dump/dump.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/jemalloc_stats.h"
#include "lib/faces/jemalloc/jemalloc_tcache.h"
#include "lib/heap/observer.h"
#include "lib/process/process.h"

typedef void message_function(void *opaque, const char *text);
extern message_function *malloc_message, *je_malloc_message;
EXPORT message_function *malloc_message, *je_malloc_message;

enum { RATE_LG_MAX = 40, SAY_SIZE = 1024 };
/* Bytes by which the peak must have grown for the next dump. jemalloc dumps when its mapped memory
 * reaches a new peak, which grows in steps of its extents. */
enum { GDUMP_STEP = 1 << 20 };

struct jemalloc_state jemalloc_state;

static bool program_takes(const char *text);

void jemalloc_write(const char *text)
{
    if (!program_takes(text))
        message_write(text, strlen(text));
}

void jemalloc_answer(void *opaque, const char *text)
{
    enum { STANDARD_ERROR = 2 };
    (void)opaque;
    if (!program_takes(text))
        os_write_all(STANDARD_ERROR, text, strlen(text));
}

void jemalloc_say(const char *format, ...)
{
    char buffer[SAY_SIZE];
    struct print line;
    va_list list;
    print_start(&line, buffer, sizeof buffer);
    va_start(list, format);
    print_list(&line, format, list);
    va_end(list);
    jemalloc_write(print_string(&line));
}

/* libjemalloc.so; NULL where it is not in the process. */
extern const char memoir_face_jemalloc[] __attribute__((weak));

int64_t jemalloc_rate(uint64_t lg_sample)
{
    return lg_sample == 0 ? 0 : (int64_t)1 << (lg_sample < RATE_LG_MAX ? lg_sample : RATE_LG_MAX);
}

/* Passes it to the program's own function for messages, if there is one. */
static bool program_takes(const char *text)
{
    if (malloc_message != NULL)
        malloc_message(NULL, text);
    else if (je_malloc_message != NULL)
        je_malloc_message(NULL, text);
    return malloc_message != NULL || je_malloc_message != NULL;
}

static void set(enum jemalloc_name name, uint64_t number)
{
    jemalloc_values[name].number = number;
}

/* A leak check needs a profile, but no dumps during the run: as in jemalloc. */
static void derive(void)
{
    if (jemalloc_on(JEMALLOC_prof_leak_error))
        set(JEMALLOC_prof_leak, true);
    if (jemalloc_on(JEMALLOC_prof_leak) && !jemalloc_on(JEMALLOC_prof)) {
        set(JEMALLOC_prof, true);
        jemalloc_values[JEMALLOC_prof].given = true;
        set(JEMALLOC_prof_gdump, false);
        set(JEMALLOC_lg_prof_interval, (uint64_t)-1);
    }
}

/* "1-4096:17|128-128:2": sizes and pages; the last one counts. The form has been checked. */
static void apply_slab_sizes(const char *at)
{
    while (at != NULL && *at >= '0' && *at <= '9') {
        size_t from = ranges_number(&at), to = ranges_number(&at), pages = ranges_number(&at);
        if (pages != 0 && pages <= UINT16_MAX)
            sizes_ask(from, to, pages * (os_page_size() >> UNIT_SHIFT));
    }
}

/* What jemalloc's start makes of numbers that are right and can't be had. */
static void apply_limits(void)
{
    enum { COUNT_MAX = 4094, THREADS_FIRST = 4, LARGE_MIN = 16 << 10 }; /* jemalloc's */
    if (jemalloc_values[JEMALLOC_narenas].number > COUNT_MAX)
        jemalloc_write("<jemalloc>: Reducing narenas to limit (4094)\n");
    if (jemalloc_values[JEMALLOC_max_background_threads].number > COUNT_MAX + 1)
        set(JEMALLOC_max_background_threads, THREADS_FIRST);
    if (jemalloc_values[JEMALLOC_oversize_threshold].number < LARGE_MIN)
        set(JEMALLOC_oversize_threshold, 0);
}

static void apply_settings(void)
{
    apply_limits();
    const struct jemalloc_value *decay = &jemalloc_values[JEMALLOC_dirty_decay_ms];
    const struct jemalloc_value *thp = &jemalloc_values[JEMALLOC_thp];
    if (jemalloc_values[JEMALLOC_prof_bt_max].given)
        config.heap_depth = (unsigned)jemalloc_values[JEMALLOC_prof_bt_max].number;
    if (decay->given)
        config.return_delay_ms = (int64_t)decay->number < 0 ? config_never : decay->number;
    else /* opt.* shows what is in force, as arenas.* does */
        set(JEMALLOC_dirty_decay_ms, config.return_delay_ms);
    if (thp->given && strcmp(thp->text, "always") == 0)
        config.thp = CONFIG_THP_ON;
    if (thp->given && strcmp(thp->text, "never") == 0)
        config.thp = CONFIG_THP_OFF;
    if (jemalloc_values[JEMALLOC_slab_sizes].given)
        apply_slab_sizes(jemalloc_values[JEMALLOC_slab_sizes].text);
    if (jemalloc_values[JEMALLOC_lg_tcache_max].given)
        set(JEMALLOC_tcache_max, UINT64_C(1) << jemalloc_values[JEMALLOC_lg_tcache_max].number);
}

/* The program has jemalloc's library, ours or the real one behind ours, or one of its settings. */
static bool is_asked_for(void)
{
    for (unsigned i = 0; i < JEMALLOC_SOURCES; i++)
        if (jemalloc_texts[i] != NULL)
            return true;
    return memoir_face_jemalloc != NULL || next_has_library("libjemalloc");
}

static void end_with(const char *words)
{
    jemalloc_write(words);
    os_abort();
}

bool jemalloc_is_later(void)
{
    typedef int call(const char *, void *, size_t *, void *, size_t);
    call *theirs = os_static() ? NULL : (call *)next_find("mallctl");
    const char *version = NULL;
    size_t length = sizeof version;
    if (theirs == NULL || theirs("version", &version, &length, NULL, 0) != 0 || version == NULL)
        return false;
    return strncmp(version, "5.3.0", 5) > 0;
}

static void new_failed(size_t size)
{
    char later[128];
    struct print text;
    print_start(&text, later, sizeof later);
    print_format(&text,
                 "<jemalloc>: Allocation of size %zu failed.  opt.experimental_infallible_new is "
                 "true. Aborting.\n",
                 size);
    libc_abort(jemalloc_is_later()
                   ? print_string(&text)
                   : "<jemalloc>: Allocation failed and opt.experimental_infallible_new is true. "
                     "Aborting.\n",
               "out of memory in operator new, and experimental_infallible_new is set; raise the "
               "memory limit");
}

/* What the program may rely on once it has jemalloc's library or variables. */
static void apply_contract(void)
{
    const char *junk = jemalloc_values[JEMALLOC_junk].text;
    bool both = strcmp(junk, "true") == 0;
    filling_ask(jemalloc_on(JEMALLOC_zero), both || strcmp(junk, "alloc") == 0,
                both || strcmp(junk, "free") == 0);
    if (jemalloc_on(JEMALLOC_xmalloc))
        libc_xmalloc = end_with;
    guarding_ask(jemalloc_values[JEMALLOC_san_guard_small].number,
                 jemalloc_values[JEMALLOC_san_guard_large].number);
    const char *zero = jemalloc_values[JEMALLOC_zero_realloc].text;
    libc_zero_realloc = *zero == 'f'                 ? ZERO_REALLOC_FREES
                        : strcmp(zero, "alloc") == 0 ? ZERO_REALLOC_ALLOCATES
                                                     : ZERO_REALLOC_ABORTS;
    cxx_new_fails = jemalloc_on(JEMALLOC_experimental_infallible_new) ? new_failed : NULL;
    libc_aligned_strictly = is_asked_for;
}

static void apply_profile(void)
{
    bool profile = jemalloc_on(JEMALLOC_prof);
    if (profile) {
        config.heap = jemalloc_on(JEMALLOC_prof_active);
        config.heap_pace = 0; /* programs expect that lg_prof_sample holds */
        config.heap_rate = (size_t)jemalloc_rate(jemalloc_values[JEMALLOC_lg_prof_sample].number);
    } else if (jemalloc_values[JEMALLOC_prof].given) {
        config.heap = false;
    } /* otherwise memoir's options decide; opt.prof is false, as programs expect that ask for it */
}

static bool put_prefix(struct dump_style *style, const char *prefix)
{
    size_t length = strlen(prefix);
    if (length >= sizeof style->prefix)
        return false;
    memcpy(style->prefix, prefix, length + 1);
    return true;
}

void jemalloc_init(void)
{
    jemalloc_conf_load();
    derive();
    apply_settings();
    apply_contract();
    apply_profile();
    control_jemalloc.names = DUMP_NAMES_JEMALLOC;
    control_jemalloc.format = FORMAT_JEMALLOC;
    control_jemalloc.options.accum = jemalloc_on(JEMALLOC_prof_accum);
    control_jemalloc.options.raw = !jemalloc_on(JEMALLOC_prof_unbias);
    control_jemalloc.aborts = jemalloc_on(JEMALLOC_abort);
    control_jemalloc.pid_namespace = jemalloc_on(JEMALLOC_prof_pid_namespace);
    if (!put_prefix(&control_jemalloc, jemalloc_values[JEMALLOC_prof_prefix].text))
        jemalloc_write("<jemalloc>: prof_prefix is too long; dumps are named jeprof...\n");
}

/* Whether there is to be a dump at the end. */
static bool ends_with_dump(void)
{
    return jemalloc_values[JEMALLOC_prof].given && jemalloc_on(JEMALLOC_prof) &&
           jemalloc_on(JEMALLOC_prof_final) && control_jemalloc.prefix[0] != '\0';
}

static void tell_final(void)
{
    dump_told(RECORDER_TOLD_JEMALLOC, ends_with_dump() ? &control_jemalloc : NULL, NULL);
}

bool jemalloc_set_prefix(const char *prefix)
{
    struct dump_style style = control_jemalloc;
    if (!put_prefix(&style, prefix))
        return false;
    dump_style_set(&control_jemalloc, &style);
    tell_final();
    return true;
}

/* jemalloc dumps each time the heap takes one more page than ever before: hundreds of files while a
 * program starts. A step keeps that to a few. */
void jemalloc_set_gdump(bool on)
{
    store_relaxed(&jemalloc_state.gdump, on);
    trigger_set(&control_jemalloc, DUMP_PEAK, on ? GDUMP_STEP : 0);
}

/* Automatic dumps are made only if the program asked for a profile and the prefix is not empty. */
static void print_interval(void)
{
    jemalloc_stats(NULL, NULL, jemalloc_values[JEMALLOC_stats_interval_opts].text);
}
/* Statistics each time that stats_interval bytes were allocated: a dump that writes no file. */
static const struct dump_style interval_stats = {.run = print_interval};

void jemalloc_ready(void)
{
    arenas_begin();
    tcache_begin();
    int64_t bytes = (int64_t)jemalloc_values[JEMALLOC_stats_interval].number;
    if (bytes >= 0)
        trigger_set(&interval_stats, DUMP_ALLOCATED, bytes == 0 ? 1 : (uint64_t)bytes);
    if (jemalloc_on(JEMALLOC_prof_recent_alloc_max))
        recent_set_max((int64_t)jemalloc_values[JEMALLOC_prof_recent_alloc_max].number);
    if (!jemalloc_values[JEMALLOC_prof].given || !jemalloc_on(JEMALLOC_prof))
        return;
    if (!jemalloc_on(JEMALLOC_prof_thread_active_init))
        track_set_threads_active(false);
    if (jemalloc_on(JEMALLOC_prof_log))
        jemalloc_log_start(NULL);
    if (control_jemalloc.prefix[0] == '\0')
        return;
    tell_final();
    int64_t interval = (int64_t)jemalloc_values[JEMALLOC_lg_prof_interval].number;
    if (interval >= 0) {
        jemalloc_state.interval_bytes = (uint64_t)1 << interval;
        trigger_set(&control_jemalloc, DUMP_ALLOCATED, jemalloc_state.interval_bytes);
    }
    if (jemalloc_on(JEMALLOC_prof_gdump))
        jemalloc_set_gdump(true);
}

void jemalloc_disown(void)
{
    set(JEMALLOC_stats_print, false);
    set(JEMALLOC_prof_final, false);
    trigger_set(&interval_stats, DUMP_ALLOCATED, 0);
    tell_final();
    trigger_set(&control_jemalloc, DUMP_ALLOCATED, 0);
    if (load_relaxed(&jemalloc_state.gdump))
        jemalloc_set_gdump(false);
}

int jemalloc_dump(const char *path)
{
    if (path == NULL && control_jemalloc.prefix[0] == '\0')
        return EFAULT;
    return dump_write(&control_jemalloc, DUMP_CALL, path, NULL, NULL);
}

struct leaks {
    uint32_t stack; /* of the row before */
    uint64_t contexts;
};

static void leaks_row(void *context, const struct track_row *row)
{
    struct leaks *leaks = context;
    if (row->live.objects == 0 || row->stack == leaks->stack)
        return;
    leaks->stack = row->stack;
    leaks->contexts++;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* The summary of what is live at the end. True if anything is. */
static bool report_leaks(void)
{
    struct leaks leaks = {UINT32_MAX, 0};
    struct track_totals totals;
    track_each(leaks_row, &leaks);
    if (!track_totals_now(&totals) || totals.live.usable == 0)
        return false;
    jemalloc_say("<jemalloc>: Leak approximation summary: ~%lu byte%s, ~%lu object%s, >= %lu "
                 "context%s\n",
                 totals.live.usable, plural(totals.live.usable), totals.live.objects,
                 plural(totals.live.objects), leaks.contexts, plural(leaks.contexts));
    return true;
}

static void final_dump(void)
{
    char name[CONFIG_PATH_SIZE + 128];
    name[0] = '\0';
    int failed = dump_write(&control_jemalloc, DUMP_EXIT, NULL, NULL, name);
    if (!jemalloc_on(JEMALLOC_prof_leak) || !report_leaks())
        return;
    if (failed == 0)
        jemalloc_say("<jemalloc>: Run jeprof on \"%s\" for leak detail\n", name);
    if (jemalloc_on(JEMALLOC_prof_leak_error)) {
        jemalloc_write("<jemalloc>: Exiting with error code because memory leaks were detected\n");
        /* So that the exit loses nothing that the program wrote. */
        fflush(NULL);
        dump_recorder_end();
        os_exit(1);
    }
}

void jemalloc_exit(void)
{
    jemalloc_log_stop();
    if (jemalloc_on(JEMALLOC_stats_print))
        jemalloc_stats(NULL, NULL, jemalloc_values[JEMALLOC_stats_print_opts].text);
    if (ends_with_dump())
        final_dump();
}
