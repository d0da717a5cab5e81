/* SPDX-License-Identifier: MIT */
/*
 * gperftools' heap profiler: records every block from its start on, and writes numbered files. It
 * is started by HEAPPROFILE or by a call, and may be stopped and started again. A start forgets
 * earlier samples; a stop goes back to sampling at the old rate.
 */
#include "lib/faces/gperftools/gperftools.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/file/recorder_format.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/dump/dump.h"
#include "lib/faces/gperftools/heap_checker.h"
#include "lib/faces/gperftools/mmap_calls.h"
#include "lib/faces/gperftools/mmap_profile.h"
#include "lib/faces/notice.h"
#include "lib/heap/observer.h"

void HeapProfilerStart(const char *prefix);
void HeapProfilerStop(void);
void HeapProfilerDump(const char *reason);
int IsHeapProfilerRunning(void);
char *GetHeapProfile(void);

/* Absent in static programs, which have one malloc. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

static uint32_t running;
static bool ended; /* the last dump is made: a libtcmalloc in the process would make another one */
/* The state that a stop restores. */
static bool sampled_before;
static int64_t rate_before;

void gperftools_init(void)
{
    gperftools_settings_read();
    const struct gperftools_settings *settings = &gperftools_settings;
    sampled_before = config.heap;
    rate_before = (int64_t)config.heap_rate;
    config.return_delay_ms = settings->delay_ms;
    if (settings->cache_bytes != 0)
        config.cache_total = settings->cache_bytes;
    if (settings->limit_bytes != 0)
        config.limit = settings->limit_bytes;
    if (settings->large_bytes != 0)
        large_report_start(settings->large_bytes);
    heap_checker_init();
    if (settings->prefix != NULL) {
        config.heap = true;
        config.heap_rate = 0;
    } else if (settings->sample_bytes != 0 && !heap_checker_is_wanted()) {
        config.heap = true;
        config.heap_rate = settings->sample_bytes;
        config.heap_pace = 0;
    }
}

static void say(const char *text)
{
    if (!gperftools_settings.quiet)
        message_write(text, strlen(text));
}

static bool set_prefix(const char *prefix)
{
    size_t length = strlen(prefix);
    struct dump_style style = control_gperftools;
    if (length >= sizeof style.prefix)
        return false;
    memcpy(style.prefix, prefix, length + 1);
    style.names = DUMP_NAMES_GPERFTOOLS;
    style.format = FORMAT_GPERFTOOLS;
    style.announce = !gperftools_settings.quiet;
    dump_style_set(&control_gperftools, &style);
    return true;
}

static void set_triggers(bool on)
{
    const struct gperftools_settings *settings = &gperftools_settings;
    const struct dump_style *style = &control_gperftools;
    trigger_set(style, DUMP_ALLOCATED, on ? settings->allocated_bytes : 0);
    trigger_set(style, DUMP_FREED, on ? settings->freed_bytes : 0);
    trigger_set(style, DUMP_IN_USE, on ? settings->in_use_bytes : 0);
    trigger_set(style, DUMP_TIME, on ? settings->time_s * 1000 : 0);
    dump_told(RECORDER_TOLD_GPERFTOOLS, on ? style : NULL, NULL);
}

static void set_signal(unsigned number)
{
    char buffer[200];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    if (trigger_set(&control_gperftools, DUMP_SIGNAL, number))
        print_format(&line, "Using signal %u as heap profiling switch\n", number);
    else
        print_format(&line,
                     "memoir: HEAPPROFILESIGNAL: signal %u has a handler, or can have none; choose "
                     "another one\n",
                     number);
    say(print_string(&line));
}

/* The plain prefix belongs to the first process; its children add their ids. */
void gperftools_ready(void)
{
    const struct gperftools_settings *settings = &gperftools_settings;
    if (settings->prefix == NULL)
        return;
    control_gperftools.owner = settings->use_pid ? 0 : os_pid();
    if (!set_prefix(settings->prefix)) {
        say("memoir: HEAPPROFILE is too long; there is no heap profile\n");
        return;
    }
    if (settings->cleanup)
        gperftools_cleanup(settings->prefix, settings->use_pid ? os_pid() : 0);
    store_relaxed(&running, 1);
    set_triggers(true);
}

/*
 * What can't be done while the library starts: the first call of malloc may come from libc's
 * setenv, or from code that is about to use the signal. Child programs inherit the variables and
 * must not overwrite the files of this one.
 */
void gperftools_before_main(void)
{
    static char entry[] = "HEAPPROFILE_USE_PID=1";
    const struct gperftools_settings *settings = &gperftools_settings;
    heap_checker_before_main();
    if (!load_relaxed(&running))
        return;
    say("Starting tracking the heap\n");
    if (!settings->use_pid)
        environment_add(entry);
    if (settings->signal != 0)
        set_signal(settings->signal);
    else if (settings->signal_wrong)
        say("memoir: HEAPPROFILESIGNAL is not a number from 1 to 64 and has no effect; "
            "12 is SIGUSR2\n");
    if ((settings->mmap || settings->mmap_log) && mmap_calls_watch())
        mmap_profile_start(settings->mmap, settings->only_mmap, settings->mmap_log);
}

void gperftools_disown(void)
{
    gperftools_settings.stats_level = 0;
    heap_checker_disown();
    if (load_relaxed(&running)) {
        store_relaxed(&running, 0);
        set_triggers(false);
    }
}

static bool can_act(void)
{
    return lock_held == 0 && init_done();
}

EXPORT void HeapProfilerStart(const char *prefix)
{
    static bool told;
    uint32_t no = 0;
    notice_call("HeapProfilerStart", &told);
    if (!can_act() || prefix == NULL ||
        !__atomic_compare_exchange_n(&running, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    if (!set_prefix(prefix)) {
        say("memoir: the prefix of HeapProfilerStart is too long; there is no heap profile\n");
        store_relaxed(&running, 0);
        return;
    }
    say("Starting tracking the heap\n");
    sampled_before = control_active();
    rate_before = control_rate();
    if (!heap_checker_is_active()) { /* which needs what was recorded, and records all */
        control_reset();
        control_start(SAMPLER_EXACT);
    }
    set_triggers(true);
}

EXPORT void HeapProfilerStop(void)
{
    uint32_t yes = 1;
    if (!can_act() ||
        !__atomic_compare_exchange_n(&running, &yes, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    set_triggers(false);
    if (heap_checker_is_active())
        return;
    control_set_rate(rate_before);
    if (!sampled_before)
        control_stop();
    control_reset();
}

EXPORT int IsHeapProfilerRunning(void)
{
    return (int)load_relaxed(&running);
}

EXPORT void HeapProfilerDump(const char *reason)
{
    if (can_act() && load_relaxed(&running) && !ended)
        dump_write(&control_gperftools, DUMP_CALL, NULL, reason == NULL ? "" : reason, NULL);
}

/* The realloc of the program, as its free gets the text: not ours if we were loaded late. */
static void *(*program_realloc(void))(void *, size_t)
{
    void *found = dlsym == NULL ? NULL : dlsym(RTLD_DEFAULT, "realloc");
    return found == NULL ? realloc : (void *(*)(void *, size_t))found;
}

/* The text of the file as a C string; empty if memory is out for all of it, NULL if it is out
 * entirely. */
static char *read_all(int fd)
{
    void *(*resize)(void *, size_t) = program_realloc();
    size_t room = 64 << 10, length = 0;
    char *text = resize(NULL, room);
    while (text != NULL && fd >= 0) {
        ssize_t got = os_read_at(fd, text + length, room - length - 1, length);
        if (got <= 0)
            break;
        length += (size_t)got;
        if (room - length > 1)
            continue;
        char *more = resize(text, room *= 2);
        if (more == NULL) {
            length = 0;
            break;
        }
        text = more;
    }
    if (text != NULL)
        text[length] = '\0';
    return text;
}

EXPORT char *GetHeapProfile(void)
{
    return load_relaxed(&running) ? gperftools_profile_text(SOURCE_HEAP) : read_all(-1);
}

char *gperftools_profile_text(enum dump_source source)
{
    int fd = can_act() ? os_memory_file("memoir heap profile") : -1;
    struct dump_style style = {.source = source, .format = FORMAT_GPERFTOOLS};
    bool whole = fd >= 0 && dump_to_fd(&style, DUMP_CALL, fd) == 0;
    char *text = read_all(whole ? fd : -1);
    if (fd >= 0)
        os_close(fd);
    return text;
}

static void final_dump(void)
{
    static const char *const units[] = {"bytes", "kB", "MB"};
    char buffer[128];
    struct print words;
    struct track_totals totals;
    uint64_t in_use = track_totals_now(&totals) ? totals.live.requested : 0;
    unsigned unit = in_use >> 20 > 0 ? 2 : in_use >> 10 > 0 ? 1 : 0;
    print_start(&words, buffer, sizeof buffer);
    print_format(&words, "Exiting, %lu %s in use", in_use >> (10 * unit), units[unit]);
    dump_write(&control_gperftools, DUMP_EXIT, NULL, print_string(&words), NULL);
}

void gperftools_exit(void)
{
    if (load_relaxed(&running))
        final_dump();
    ended = true;
    if (gperftools_settings.stats_level > 0) {
        char buffer[GPERFTOOLS_STATS_SIZE_FULL];
        struct print out;
        print_start(&out, buffer, sizeof buffer);
        gperftools_stats(&out, gperftools_settings.stats_level);
        message_flush(&out);
    }
}
