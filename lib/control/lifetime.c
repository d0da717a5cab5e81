/* SPDX-License-Identifier: MIT */
/*
 * The library's constructor and destructor. The allocator itself starts with the first malloc
 * (lib/api/init.c). Nothing is torn down at the end, because atexit handlers and the loader still
 * use the heap.
 */
#include "base/config.h"
#include "base/loaded.h"
#include "base/message.h"
#include "base/object.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/control/stats.h"
#include "lib/dump/dump.h"
#include "lib/guard/guard.h"
#include "lib/process/process.h"

static int stats_fd = 2; /* a duplicate: some programs close stderr before they end */

__attribute__((constructor(101))) static void come_up(void)
{
    os_memory_claim();
    stay_loaded();
    if (init_done() && !twin_is_in_charge()) {
        attach_init(&(struct attach_commands){control_command, control_keeps_file});
        ending_apply();
        guard_faults();
        if (deepbind_count != NULL)
            deepbind_count();
        control_cpu_init();
        control_locks_init();
        if (config.stats)
            stats_fd = os_duplicate(2);
    }
    objects_refresh();
    char path[LOADED_PATH];
    loaded_program(path); /* now: relative to where the program was started */
}

__attribute__((destructor)) static void go(void)
{
    struct roots_thread here = {0};
    roots_here(&here);
    attach_end();
    if (!load_acquire(&init_ready))
        return;
    if (cold_begin(NULL)) /* after a jump out of a signal handler nothing can be written before */
        cold_end();
    else
        abandoned_exit();
    guard_exit();
    if (harden_on && os_thread_count() == 1)
        tail_exit();
    cold_verify();
    leaks_exit(&here);
    triggers_exit(NULL);
    if (config.stats)
        stats_print(message_is_first(stats_fd) ? stats_fd : STATS_MESSAGE);
    faces_exit();
    dump_recorder_end(); /* last: until then a kill must find what those were to write */
}
