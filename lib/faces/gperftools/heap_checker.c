/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/gperftools/heap_checker.h. A mode sets the variables about what keeps a block; only
 * as-is leaves them alone. In gperftools 2.10 all modes check after the destructors of global
 * objects. A block is lost for gperftools if no pointer to its start, or up to an offset into it,
 * can be reached; memoir's verdicts (indirectly, possibly) all count.
 */
#include "lib/faces/gperftools/heap_checker.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/message.h"
#include "base/object.h"
#include "base/os.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { OFFSET_MAX = 1024, LEAKS_MAX = 20 }; /* gperftools' defaults */

struct heap_checker_settings heap_checker_settings;

/* What begins when. Blocks of before do not count: in draconian mode, which has no other excuse,
 * those are what libraries keep from their own start. */
static const struct mode {
    const char *name;
    bool global, base, live;
} modes[] = {
    {"minimal", true, true, true},    {"normal", true, false, true}, {"strict", true, false, true},
    {"draconian", true, true, false}, {"as-is", true, false, true},  {"local", false, false, true},
};

static const struct mode *mode; /* NULL: no check does anything */
static const char *word;        /* HEAPCHECK; NULL: not set */
static struct blocks_base *base;
static int owner; /* the process that is checked, not its children */
static bool global;
static struct object idle; /* a libtcmalloc that the program is linked with */
static bool (*of_scopes)(const struct record *record);

/* Absent in static programs, which have one malloc. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

void heap_checker_init(void)
{
    struct heap_checker_settings *settings = &heap_checker_settings;
    word = environment_get("HEAPCHECK");
    for (unsigned i = 0; word != NULL && i < COUNT_OF(modes); i++)
        if (strcmp(word, modes[i].name) == 0)
            mode = &modes[i];
    if (mode == NULL)
        return;
    settings->ignore_thread_live = settings->ignore_global_live = mode->live;
    if (strcmp(mode->name, "as-is") == 0) {
        settings->ignore_thread_live = gperftools_flag("HEAP_CHECK_IGNORE_THREAD_LIVE", true);
        settings->ignore_global_live = gperftools_flag("HEAP_CHECK_IGNORE_GLOBAL_LIVE", true);
    }
    settings->identify_leaks = gperftools_flag("HEAP_CHECK_IDENTIFY_LEAKS", false);
    settings->test_alignment = gperftools_flag("HEAP_CHECK_TEST_POINTER_ALIGNMENT", false);
    settings->offset_max = gperftools_number("HEAP_CHECK_MAX_POINTER_OFFSET", OFFSET_MAX);
    int64_t step = gperftools_number("HEAP_CHECK_POINTER_SOURCE_ALIGNMENT", sizeof(void *));
    settings->step = step > 0 && step < (int64_t)sizeof(void *) ? (unsigned)step : 0;
    int64_t max = gperftools_number("HEAP_CHECK_MAX_LEAKS", LEAKS_MAX);
    settings->leaks_max = max <= 0 || max > SCAN_ROWS ? SCAN_ROWS : (unsigned)max;
    int64_t delay = gperftools_number("HEAP_CHECK_DELAY_SECONDS", 0);
    settings->delay_s = delay < 0 ? 0 : delay > 3600 ? 3600 : (unsigned)delay;
    settings->folder = environment_get("HEAP_CHECK_DUMP_DIRECTORY");
    if (settings->folder == NULL)
        settings->folder = "/tmp";
    config.heap = true;
    config.heap_rate = 0;
    init_expects_scan = true;
}

/* All memory of libraries that their constructors allocate is there, and none of the program's. */
void heap_checker_before_main(void)
{
    if (word != NULL && gperftools_settings.verbose && !foreign_malloc())
        heap_checker_say(true, "Starting tracking the heap\n");
    if (word == NULL || (mode != NULL && foreign_malloc()))
        mode = NULL;
    else if (word[0] == '\0')
        heap_checker_say(true, "Turning perftools heap leak checking off\n");
    else if (mode == NULL)
        heap_checker_fatal("Unsupported heap_check flag: %s\n", word);
    if (mode == NULL)
        return;
    heap_checker_say(true,
                     "WARNING: Perftools heap leak checker is active -- Performance may suffer\n");
    owner = os_pid();
    global = mode->global;
    void *of_idle = dlsym == NULL ? NULL : dlsym(RTLD_DEFAULT, "heap_leak_checker_bcad_variable");
    if (of_idle != NULL && !object_find((uintptr_t)of_idle, &idle))
        idle = (struct object){0};
    if (mode->base)
        base = blocks_base_take();
}

void heap_checker_disown(void)
{
    mode = NULL;
}

bool heap_checker_is_wanted(void)
{
    return mode != NULL;
}

bool heap_checker_is_active(void)
{
    return mode != NULL && owner != 0;
}

bool heap_checker_is_global(void)
{
    return heap_checker_is_active() && mode->global;
}

void heap_checker_cancel(void)
{
    if (!global)
        return;
    heap_checker_say(true, "Canceling the automatic at-exit whole-program memory leak check\n");
    global = false;
}

void heap_checker_say(bool quiet, const char *format, ...)
{
    va_list list;
    if (quiet && gperftools_settings.quiet)
        return;
    va_start(list, format);
    message_list(format, list);
    va_end(list);
}

void heap_checker_fatal(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    message_list(format, list);
    va_end(list);
    abort();
}

/* Allocated in a scope that says so, or by the checker's namesake, which hides its pointers from
 * itself. */
static bool is_kept(const struct record *record)
{
    uint32_t stack = track_stack(record->site);
    uintptr_t pc = 0;
    if (stack > STACK_OTHER)
        stacks_node(stack, &stack, &pc);
    return pc - idle.start < idle.end - idle.start || (of_scopes != NULL && of_scopes(record));
}

static struct leak_request request_of(const struct blocks_base *since)
{
    const struct heap_checker_settings *settings = &heap_checker_settings;
    of_scopes = track_kept();
    return (struct leak_request){
        .inside = settings->offset_max < 0 ? SCAN_INSIDE_ANY : SCAN_INSIDE_OFFSET,
        .offset_max = (size_t)settings->offset_max,
        .mappings = true,
        .without = {.registers = !settings->ignore_thread_live,
                    .stacks = !settings->ignore_thread_live,
                    .globals = !settings->ignore_global_live},
        .kept = idle.end != 0 ? is_kept : of_scopes,
        .base = since,
        .step = settings->step,
    };
}

static struct heap_checker_sums sums_of(const struct leak_scan *scan)
{
    struct heap_checker_sums sums = {0, scan->result.lost_count};
    for (unsigned i = 0; i < SCAN_ROWS; i++)
        sums.bytes += scan->result.rows[i].requested_bytes;
    return sums;
}

/* Whether the leaks go away when pointers may lie anywhere. */
static void test_alignment(struct leak_request request)
{
    request.step = 1;
    const struct leak_scan *scan = leaks_find(&request);
    if (scan == NULL)
        return;
    if (scan->result.lost_count == 0) {
        heap_checker_say(false, "Found no leaks without pointer alignment: something might be "
                                "placing pointers at unaligned addresses! This needs to be "
                                "fixed.\n");
    } else {
        heap_checker_say(false, "Found leaks without pointer alignment as well: unaligned pointers "
                                "must not be the cause of leaks.\n");
        heap_checker_say(false, "--heap_check_test_pointer_alignment did not help to diagnose the "
                                "leaks.\n");
    }
    leak_last_end();
}

static void say_none(const char *name, const struct leak_scan *scan)
{
    if (heap_checker_settings.offset_max < 0)
        heap_checker_say(false,
                         "Found no leaks without max_pointer_offset restriction: it's possible "
                         "that the default value of heap_check_max_pointer_offset flag is too low. "
                         "Do you use pointers with larger than that offsets pointing in the middle "
                         "of heap-allocated objects?\n");
    heap_checker_say(true,
                     "No leaks found for check \"%s\" (but no 100%% guarantee that there aren't "
                     "any): found %lu reachable heap objects of %lu bytes\n",
                     name, (unsigned long)scan->result.reachable.blocks,
                     (unsigned long)scan->result.reachable.bytes);
}

bool heap_checker_check(const char *name, const struct blocks_base *since,
                        const struct roots_thread *here, struct heap_checker_sums *sums)
{
    struct leak_request request = request_of(since);
    request.here = here;
    *sums = (struct heap_checker_sums){0, 0};
    if (request.without.stacks)
        heap_checker_say(false, "Not looking for thread stacks; objects reachable only from there "
                                "will be reported as leaks\n");
    const struct leak_scan *scan = leaks_find(&request);
    if (scan == NULL) {
        heap_checker_say(false, "memoir: HEAPCHECK: no leak check: %s\n", leaks_refusal());
        return true;
    }
    *sums = sums_of(scan);
    if (sums->objects == 0) {
        say_none(name, scan);
        leak_last_end();
        return true;
    }
    if (heap_checker_settings.test_alignment && request.step == 0) {
        leak_last_end();
        test_alignment(request);
        scan = leaks_find(&request);
        if (scan == NULL)
            return false;
    }
    heap_checker_report(name, scan, sums);
    leaks_tell_silent(scan);
    leak_last_end();
    return false;
}

bool heap_checker_check_global(const struct roots_thread *here, struct heap_checker_sums *sums)
{
    *sums = (struct heap_checker_sums){0, 0};
    return !heap_checker_is_global() || heap_checker_check("_main_", base, here, sums);
}

void heap_checker_exit(void)
{
    struct heap_checker_sums sums;
    if (!heap_checker_is_active() || owner != os_pid())
        return;
    if (global) {
        static uint32_t never;
        for (unsigned i = 0; i < heap_checker_settings.delay_s; i++)
            os_wait(&never, 0, 1000);
        if (!heap_checker_check_global(NULL, &sums)) {
            if (heap_checker_settings.identify_leaks)
                heap_checker_fatal("Whole-program memory leaks found.\n");
            heap_checker_say(false, "Exiting with error code (instead of crashing) because of "
                                    "whole-program memory leaks\n");
            fflush(NULL); /* so that the exit loses nothing that the program wrote */
            os_exit(1);
        }
    }
    if (mode->global)
        heap_checker_cleanups();
}
