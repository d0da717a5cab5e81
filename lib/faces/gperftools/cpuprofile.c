/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/gperftools/cpuprofile.h. Starting, stopping and writing the file come first, then
 * the variables that do the same without a call: CPUPROFILE at the start of the program, and
 * CPUPROFILESIGNAL as a switch.
 */
#include "lib/faces/gperftools/cpuprofile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/file/recorder_format.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/api/api.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"

enum { FREQUENCY = 100, FREQUENCY_MAX = 4000 /* as in gperftools */, SIGNALS = 64 };

static const struct dump_style style = {
    .source = SOURCE_CPU, .format = FORMAT_GPERFTOOLS, .options.since_mark = true};

static uint32_t running;
static char name[CONFIG_PATH_SIZE]; /* as the program gave it */
static char file[DUMP_NAME_SIZE];   /* the same from the root on: it may go to another folder */
static pid_t owner;                 /* the process that the name belongs to */
static int64_t start_s;
static uint64_t samples_before;

static unsigned frequency(void);
static unsigned number(const char *variable, unsigned initial);

/* ---- the profiler ------------------------------------------------------------------------ */

bool cpuprofile_start(const char *path, int (*filter)(void *argument), void *argument)
{
    uint32_t no = 0;
    if (lock_held != 0 || !init_done() || path == NULL || strlen(path) >= CONFIG_PATH_SIZE ||
        !__atomic_compare_exchange_n(&running, &no, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    struct cpu_wish wish = {frequency(), (int)number("CPUPROFILE_TIMER_SIGNAL", 0),
                            environment_get("CPUPROFILE_REALTIME") != NULL, filter, argument};
    int error = dump_try(path, file);
    if (error == 0 && (error = cpu_start(CPU_GPERFTOOLS, &wish)) == EBUSY)
        message_format("Disabling profiler because signal %d handler is already in use.\n",
                       wish.signal);
    if (error != 0) {
        store_release(&running, 0);
        errno = error;
        return false;
    }
    struct cpu_about about;
    cpu_about(&about);
    samples_before = about.samples;
    start_s = (int64_t)(os_wall_ns() / 1000000000);
    owner = os_pid();
    memcpy(name, path, strlen(path) + 1);
    struct dump_style told = style;
    told.owner = owner;
    dump_told(RECORDER_TOLD_CPU, &told, file);
    return true;
}

static unsigned frequency(void)
{
    unsigned wanted = number("CPUPROFILE_FREQUENCY", FREQUENCY);
    return wanted < FREQUENCY_MAX ? wanted : FREQUENCY_MAX;
}

/* A number as gperftools takes it: digits to the end of the text; else `initial`. */
static unsigned number(const char *variable, unsigned initial)
{
    const char *text = environment_get(variable);
    unsigned value = 0;
    if (text == NULL || *text == '\0')
        return initial;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > 100000000)
            return initial;
        value = value * 10 + (unsigned)(*text - '0');
    }
    return value == 0 ? initial : value;
}

/* The plain name is the first process's; a forked child has its id in it. */
static void file_write(void)
{
    char path[DUMP_NAME_SIZE];
    struct print text;
    print_start(&text, path, sizeof path);
    print_text(&text, file);
    if (owner != os_pid())
        print_format(&text, "_%d", (int)os_pid());
    dump_write(&style, DUMP_CALL, print_string(&text), NULL, NULL);
}

void cpuprofile_stop(void)
{
    uint32_t yes = 1;
    if (lock_held != 0 ||
        !__atomic_compare_exchange_n(&running, &yes, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    cpu_stop(CPU_GPERFTOOLS);
    file_write();
    dump_told(RECORDER_TOLD_CPU, NULL, NULL);
    struct dump_cpu_sums sums = dump_cpu_sums();
    message_format("PROFILE: interrupts/evictions/bytes = %lu/0/%lu\n", (unsigned long)sums.samples,
                   (unsigned long)sums.bytes);
}

bool cpuprofile_runs(void)
{
    return load_acquire(&running);
}

void cpuprofile_flush(void)
{
    if (lock_held == 0 && load_acquire(&running))
        file_write();
}

void cpuprofile_state(struct cpuprofile_state *state)
{
    struct cpu_about about;
    memset(state, 0, sizeof *state);
    if (!load_acquire(&running))
        return;
    cpu_about(&about);
    state->runs = true;
    state->start_s = start_s;
    state->samples =
        about.samples >= samples_before ? about.samples - samples_before : about.samples;
    memcpy(state->name, name, sizeof name);
}

/* ---- the variables ------------------------------------------------------------------------ */

static char base[CONFIG_PATH_SIZE]; /* CPUPROFILE, with the process's id where it has to be */

static void start_or_complain(const char *path)
{
    errno = 0;
    if (cpuprofile_start(path, NULL, NULL))
        return;
    char buffer[200];
    struct print cause;
    print_start(&cause, buffer, sizeof buffer);
    dump_cause(&cause, errno);
    message_format("Can't turn on cpu profiling for '%s': %s\n", path, print_string(&cause));
}

enum { SWITCH_MS = 5000 }; /* patience with a file system on which the file is written */
static uint32_t switching; /* threads that start or stop the profile, */
static uint32_t turn;      /* one after the other */
static pid_t switching_in; /* the process that they belong to */

static void switch_now(void)
{
    static unsigned count;
    char path[CONFIG_PATH_SIZE];
    struct print text;
    if (load_acquire(&running)) {
        cpuprofile_stop();
        return;
    }
    print_start(&text, path, sizeof path);
    print_format(&text, "%s.%u", base, count++);
    start_or_complain(print_string(&text));
}

/* In a thread of ours: the signal may have come upon anything. One after the other: the second of
 * two signals is to stop what the first one starts. */
static void toggle(void)
{
    os_thread_rename("memoir");
    if (turn_wait(&turn, SWITCH_MS)) {
        switch_now();
        turn_give(&turn);
    }
    __atomic_fetch_sub(&switching, 1, __ATOMIC_RELEASE);
    os_wake(&switching, 1);
}

static void on_switch(int signal)
{
    enum { STACK_SIZE = 256 << 10 }; /* the thread writes a profile, as a snapshot's does */
    (void)signal;
    if (switching_in != os_pid()) { /* a forked child has none of its parent's */
        store_relaxed(&switching, 0);
        store_relaxed(&turn, 0);
    }
    switching_in = os_pid();
    __atomic_fetch_add(&switching, 1, __ATOMIC_RELAXED);
    if (os_thread_start(toggle, STACK_SIZE) != 0)
        __atomic_fetch_sub(&switching, 1, __ATOMIC_RELAXED);
}

/* The program may end right after the signal that stops the profile. */
static void switches_end(void)
{
    uint64_t from_ms = os_now_ms();
    for (uint32_t now; switching_in == os_pid() && (now = load_acquire(&switching)) > 0 &&
                       os_now_ms() - from_ms < SWITCH_MS;)
        os_wait(&switching, now, 1);
}

static void set_switch(uint64_t signal)
{
    if (signal >= 1 && signal <= SIGNALS && os_thread_prepare() &&
        os_signal((int)signal, on_switch))
        message_format("Using signal %lu as cpu profiling switch\n", signal);
    else
        message_format(
            "memoir: CPUPROFILESIGNAL: signal %lu has a handler, or can have none; choose another "
            "one\n",
            signal);
}

/* Programs that this one starts inherit the variable and must not write over its file. */
static bool base_read(void)
{
    static char entry[] = "CPUPROFILE_USE_PID=1";
    const char *path = environment_get("CPUPROFILE"),
               *use_pid = environment_get("CPUPROFILE_USE_PID");
    if (path == NULL || *path == '\0')
        return false;
    struct print text;
    print_start(&text, base, sizeof base);
    print_text(&text, path);
    if (use_pid != NULL && (*use_pid == '\0' || strchr("tTyY1", *use_pid) != NULL))
        print_format(&text, "_%d", (int)os_pid());
    else
        environment_add(entry);
    print_string(&text);
    if (text.cut)
        message_format("memoir: CPUPROFILE is too long; there is no CPU profile\n");
    return !text.cut;
}

/* The functions that the program finds first may be gperftools' own, or those of our
 * libprofiler.so, which passes calls on to libmemoir.so. */
extern const char memoir_mode_cpu[] __attribute__((weak));

static bool is_passed_on(void)
{
    return memoir_mode_cpu != NULL && !foreign_serves("memoir_version");
}

void cpuprofile_before_main(void)
{
    const char *signal = environment_get("CPUPROFILESIGNAL");
    bool ours = !foreign_serves("ProfilerStart") || is_passed_on();
    if (!ours || !base_read())
        return;
    if (signal != NULL)
        set_switch(text_number(signal, 10));
    else
        start_or_complain(base);
}

void cpuprofile_exit(void)
{
    switches_end();
    cpuprofile_stop();
}
