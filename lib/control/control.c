/* SPDX-License-Identifier: MIT */
/*
 * See lib/control/control.h. One function for each option says what it means while the program
 * runs; the caller (the start, a call, a line of the protocol) has set its field in `config`
 * before.
 */
#include "lib/control/control.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/file/recorder_format.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/api/api.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/process/process.h"

struct dump_style control_memoir = {.names = DUMP_NAMES_MEMOIR, .format = FORMAT_CAPTURE};
struct dump_style control_jemalloc = {
    .names = DUMP_NAMES_JEMALLOC, .format = FORMAT_JEMALLOC, .prefix = "jeprof"};
struct dump_style control_gperftools = {
    .names = DUMP_NAMES_GPERFTOOLS, .format = FORMAT_GPERFTOOLS, .announce = true};

static const struct dump_style capture = {.names = DUMP_NAMES_CAPTURE, .format = FORMAT_CAPTURE};

static void apply_capture_interval(void);

static int64_t last_rate = -1; /* for a start without a rate; -1: that of the option */

int64_t control_rate(void)
{
    int64_t rate = init_done() ? sampler_rate() : SAMPLER_OFF;
    if (rate < 0)
        rate = load_relaxed(&last_rate);
    return rate < 0 ? (int64_t)config.heap_rate : rate;
}

bool control_active(void)
{
    return init_done() && sampler_rate() != SAMPLER_OFF;
}

void control_start(int64_t rate)
{
    bool was_active = control_active();
    if (rate >= 0)
        sampler_fix_rate();
    else
        rate = control_rate();
    store_relaxed(&last_rate, rate);
    cold_set_rate(rate);
    if (!was_active)
        triggers_reset();
}

void control_stop(void)
{
    store_relaxed(&last_rate, control_rate());
    cold_set_rate(SAMPLER_OFF);
}

void control_set_rate(int64_t rate)
{
    if (rate < 0)
        return;
    sampler_fix_rate();
    store_relaxed(&last_rate, rate);
    if (control_active())
        cold_set_rate(rate);
}

void control_reset(void)
{
    track_reset();
    triggers_reset();
}

void control_thread_active(bool active)
{
    track_set_thread_active(active);
}

bool control_thread_is_active(void)
{
    return track_thread_active();
}

int control_dump(enum dump_reason reason, const char *path, char *name)
{
    return init_done() ? dump_write(&control_memoir, reason, path, NULL, name) : ENOMEM;
}

int control_snapshot(enum dump_reason reason, const char *words)
{
    return init_done() ? dump_write(&capture, reason, NULL, words, NULL) : ENOMEM;
}

int control_mark(const char *name)
{
    return init_done() ? dump_mark(name) : ENOMEM;
}

/* The options of captures depend on whether there is one. */
static void capture_changed(const char *name)
{
    struct print text;
    print_start(&text, config.capture, sizeof config.capture);
    print_text(&text, name);
    print_string(&text);
    apply_capture_interval();
    ending_apply();
}

int control_record(int fd)
{
    char name[DUMP_NAME_SIZE];
    int error = init_done() ? dump_capture_fd(fd, name) : ENOMEM;
    if (error == 0)
        capture_changed(name);
    return error;
}

int control_record_stop(void)
{
    int error = init_done() ? dump_capture_stop(&capture) : ENOENT;
    capture_changed("");
    return error;
}

static void apply_heap(void)
{
    if (config.heap)
        control_start(-1);
    else
        control_stop();
}

static void apply_rate(void)
{
    control_set_rate((int64_t)config.heap_rate);
}

enum format_kind control_format(unsigned word)
{
    static const enum format_kind formats[] = {
        [CONFIG_DUMP_MEMOIR] = FORMAT_CAPTURE,
        [CONFIG_DUMP_PPROF] = FORMAT_PPROF,
        [CONFIG_DUMP_JEMALLOC] = FORMAT_JEMALLOC,
        [CONFIG_DUMP_GPERFTOOLS] = FORMAT_GPERFTOOLS,
    };
    return formats[word];
}

static struct dump_style style_from_options(void)
{
    struct dump_style style = control_memoir;
    style.format = control_format(config.dump_format);
    style.keep = config.dump_keep;
    style.keep_bytes = config.dump_keep_bytes;
    memcpy(style.prefix, config.dump_prefix, sizeof style.prefix);
    return style;
}

static void tell_exit(void)
{
    dump_told(RECORDER_TOLD_MEMOIR, config.dump_exit ? &control_memoir : NULL, NULL);
}

static void apply_style(void)
{
    struct dump_style style = style_from_options();
    dump_style_set(&control_memoir, &style);
    tell_exit();
}

/* The options whose value is the step of a trigger, as it is: a row each. */
#define STEP_TRIGGERS(X)                   \
    X("dump.every", dump_every, ALLOCATED) \
    X("dump.freed", dump_freed, FREED)     \
    X("dump.growth", dump_growth, IN_USE)  \
    X("dump.peak", dump_peak, PEAK)        \
    X("dump.above", dump_above, ABOVE)     \
    X("dump.failure", dump_failure, FAILURE)

#define TRIGGER_APPLY(key, field, kind)                          \
    static void apply_##field(void)                              \
    {                                                            \
        trigger_set(&control_memoir, DUMP_##kind, config.field); \
    }
STEP_TRIGGERS(TRIGGER_APPLY)

static void apply_interval(void)
{
    uint64_t ms = config.dump_interval_ms;
    trigger_set(&control_memoir, DUMP_TIME, ms == config_never ? 0 : ms);
}

static void apply_above_percent(void)
{
    if (!trigger_percent(&control_memoir, config.dump_above_percent))
        message_format(
            "memoir: dump.above_percent has no effect: the process has no memory limit; set one, "
            "or use dump.above\n");
}

static void apply_signal(void)
{
    if (!trigger_set(&control_memoir, DUMP_SIGNAL, config.dump_signal))
        message_format(
            "memoir: dump.signal has no effect: the signal has a handler, or can have none; "
            "choose another one\n");
}

static void apply_exit(void)
{
    trigger_set(&control_memoir, DUMP_EXIT, config.dump_exit);
    tell_exit();
}

static void apply_capture_interval(void)
{
    uint64_t ms = config.capture_interval_ms;
    bool on = config.capture[0] != '\0';
    trigger_set(&capture, DUMP_TIME, on && ms != config_never ? ms : 0);
    trigger_set(&capture, DUMP_EXIT, on);
}

int control_cpu_start(unsigned rate)
{
    struct cpu_wish wish = {.rate = rate != 0 ? rate : config.cpu_rate,
                            .wall = config.cpu_clock == CONFIG_CPU_WALL};
    int error = init_done() ? cpu_start(CPU_OPTIONS, &wish) : ENOMEM;
    if (error == 0)
        config.cpu_rate = wish.rate;
    config.cpu = cpu_wanted(CPU_OPTIONS);
    return error;
}

void control_cpu_stop(void)
{
    cpu_stop(CPU_OPTIONS);
    config.cpu = false;
}

int control_cpu_dump(enum dump_reason reason, const char *path, char *name)
{
    struct dump_style style = control_memoir;
    style.source = SOURCE_CPU;
    return init_done() ? dump_write(&style, reason, path, NULL, name) : ENOMEM;
}

static void apply_cpu(void)
{
    if (!config.cpu) {
        control_cpu_stop();
    } else if (control_cpu_start(0) != 0) {
        message_format(
            "memoir: cpu has no effect: the system gives no timers, or no signal is free\n");
    }
}

/* From the next start on. */
static void apply_cpu_clock(void)
{
}

static void apply_cpu_rate(void)
{
    if (cpu_wanted(CPU_OPTIONS))
        control_cpu_start(config.cpu_rate);
}

void control_cpu_init(void)
{
    if (config.cpu && !os_secure())
        apply_cpu();
}

int control_locks_start(void)
{
    int error = init_done() ? locks_start() : ENOMEM;
    config.locks = load_relaxed(&waits_running);
    return error;
}

void control_locks_stop(void)
{
    locks_stop();
    config.locks = false;
}

static void apply_locks(void)
{
    int error = 0;
    if (!config.locks)
        control_locks_stop();
    else if ((error = control_locks_start()) == EAGAIN)
        message_format("memoir: locks has no effect: the program's threads are not from "
                       "pthread_create; start it with memoir run --locks\n");
    else if (error != 0)
        message_format("memoir: locks has no effect: a static program, or the C library's loader "
                       "does not allow to redirect its functions\n");
}

void control_locks_init(void)
{
    if (config.locks && !os_secure())
        apply_locks();
}

#define TRIGGER_ROW(key, field, kind) {key, apply_##field, true},
const struct control_row control_rows[] = {
    {"cpu", apply_cpu, false},
    {"cpu.clock", apply_cpu_clock, false},
    {"cpu.rate", apply_cpu_rate, false},
    {"heap", apply_heap, false},
    {"heap.rate", apply_rate, false},
    {"locks", apply_locks, false},
    {"dump.format", apply_style, false},
    {"dump.keep", apply_style, false},
    {"dump.keep_bytes", apply_style, false},
    STEP_TRIGGERS(TRIGGER_ROW) /* its rows end in commas */
    {"dump.interval", apply_interval, true},
    {"dump.above_percent", apply_above_percent, true},
    {"dump.signal", apply_signal, true},
    {"dump.exit", apply_exit, true},
    {"capture.interval", apply_capture_interval, true},
    {"capture.signals", ending_apply, false},
};
const size_t control_rows_count = COUNT_OF(control_rows);

void control_init(void)
{
    control_gperftools.owner = os_pid();
    control_memoir = style_from_options();
    if (config.capture[0] != '\0' && dump_capture(config.capture) != 0)
        config.capture[0] = '\0';
    if (config.recorder[0] != '\0' && dump_recorder(config.recorder) != 0)
        config.recorder[0] = '\0';
    for (size_t i = 0; i < control_rows_count; i++)
        if (control_rows[i].at_start)
            control_rows[i].apply();
}
