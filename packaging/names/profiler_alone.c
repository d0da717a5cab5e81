/* SPDX-License-Identifier: MIT */
/*
 * What libprofiler.so and libprofiler.a have in the place of lib/api: it comes up, notices forks and the ends of threads,
 * and writes the last profile, while malloc stays what it is in the program. If libmemoir.so is in the
 * process as well, that one profiles, and calls are passed on to it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "base/config.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/object.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/foreign.h"
#include "lib/api/init.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/faces/gperftools/cpuprofile.h"
#include "lib/heap/observer.h"

extern const char __ehdr_start[] HIDDEN, _end[] HIDDEN;
#pragma weak dlsym /* static programs have none */
extern const char *memoir_version(void) __attribute__((weak));
void *profiler_next(const char *name);

bool init_ready;
static struct lock init_lock = {.rank = LOCK_INIT};
static bool failed;
static pthread_key_t key;

/* libmemoir's function of that name; NULL: it is not in the process. */
void *profiler_next(const char *name)
{
    if (dlsym == NULL || dlsym(RTLD_DEFAULT, "memoir_version") == NULL)
        return NULL;
    return dlsym(RTLD_NEXT, name);
}

bool foreign_serves(const char *function)
{
    const char *found = dlsym == NULL ? NULL : dlsym(RTLD_DEFAULT, function);
    return (found != NULL && (found < __ehdr_start || found >= _end)) ||
           profiler_next(function) != NULL;
}

static void thread_end(void *unused)
{
    (void)unused;
    struct caller caller = CALLER_HERE;
    cpu_thread_end(&caller);
}

void init_thread_watch(void)
{
    pthread_setspecific(key, &key);
}

static void fork_child(void)
{
    if (!alloc_repair_begin())
        return;
    uint32_t parent_id = lock_self();
    dumps_recover(parent_id);
    alloc_recover(parent_id, true);
    track_recover(parent_id, true);
    cpu_forked(parent_id);
    alloc_repair_end(true);
    cpu_fork_child();
}

bool init_done_slow(void)
{
    if (lock_held != 0)
        return false;
    lock_take(&init_lock);
    if (!init_ready && !failed) {
        message_init();
        config_load(&config, NULL, (const char *const *)environ);
        failed = !alloc_init();
        if (!failed)
            alloc_fork_watch();
        store_release(&init_ready, !failed);
    }
    lock_give(&init_lock);
    return init_ready;
}

__attribute__((constructor)) static void come_up(void)
{
    os_tid_learn();
    if (pthread_key_create(&key, thread_end) != 0 || !init_done())
        return;
    pthread_atfork(cpu_fork_prepare, cpu_fork_parent, fork_child);
    objects_refresh();
    if (memoir_version == NULL) /* else that library heeds CPUPROFILE */
        cpuprofile_before_main();
}

__attribute__((destructor)) static void go(void)
{
    cpuprofile_exit();
}
