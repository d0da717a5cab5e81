/* SPDX-License-Identifier: MIT */
/*
 * Starts the library: at the first malloc, which may come long before constructors run, or in our
 * own constructor (lib/control/lifetime.c) if nothing allocated.
 */
#include "lib/api/init.h"

#include <pthread.h>
#include <unistd.h>

#include "base/config.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"
#include "lib/api/observers.h"
#include "lib/cpu/cpu.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/process/process.h"

extern const char *memoir_conf __attribute__((weak));

enum { NOT_YET, READY, FAILED };

static struct lock init_lock = {.rank = LOCK_INIT};
bool init_ready, init_expects_scan;
static uint8_t state;
static bool keyed;
static pthread_key_t key;

static void start(void);
static void show_options(void);
static bool profile_is_wanted(void);
static void start_sampler(void);
static void thread_end(void *heap);

bool init_done_slow(void)
{
    if (lock_held != 0 || load_acquire(&state) == FAILED)
        return false;
    bool first = false;
    lock_take(&init_lock);
    if (state == NOT_YET) {
        start();
        first = true;
    }
    lock_give(&init_lock);
    if (first && state == READY) {
        /* Last, because these may allocate. */
        store_release(&keyed, pthread_key_create(&key, thread_end) == 0);
        pthread_atfork(cpu_fork_prepare, cpu_fork_parent, cold_fork_child);
        if (heap_self != NULL)
            init_thread(heap_self);
        cxx_find_operators();
        control_init();
        faces_ready();
    }
    return state == READY;
}

static void start(void)
{
    const char *program = &memoir_conf == NULL ? NULL : memoir_conf;
    message_init();
    config_load(&config, program, (const char *const *)environ);
    if (twin_is_in_charge())
        config_defaults(&config);
    faces_init();
    if (config.verbose)
        show_options();
    if (profile_is_wanted())
        threads_keep_names();
    start_sampler();
    track_recording(config.heap);
    if (!alloc_init()) {
        store_release(&state, FAILED);
        return;
    }
    alloc_fork_watch();
    store_release(&memory_settle, cold_settle);
    guard_init(config.leak_at_exit || init_expects_scan);
    store_release(&state, READY);
    store_release(&init_ready, true);
}

/* Prints every option with the value that counts. */
static void show_options(void)
{
    char buffer[CONFIG_TEXT_MAX];
    struct print text;
    print_start(&text, buffer, sizeof buffer);
    print_format(&text, "memoir %s\n", MEMOIR_VERSION);
    config_print(&config, &text);
    message_flush(&text);
}

/* Whether some option uses the heap profile. */
static bool profile_is_wanted(void)
{
    struct config defaults;
    config_defaults(&defaults);
    return config.heap_rate != defaults.heap_rate || config.capture[0] != '\0' || config.dump_exit;
}

/* Threads may double the default rate (lib/heap/pace.h), and no rate that was chosen. */
static void start_sampler(void)
{
    struct config defaults;
    config_defaults(&defaults);
    if (config.heap && config.heap_pace != 0 && config.heap_rate == defaults.heap_rate)
        sampler_set_paced((int64_t)config.heap_rate);
    else
        sampler_set_rate(config.heap ? (int64_t)config.heap_rate : SAMPLER_OFF);
}

static void thread_end(void *heap)
{
    struct caller caller = CALLER_HERE;
    (void)heap;
    observers_thread_end(&caller);
    cold_thread_end();
}

void init_thread(void *heap)
{
    if (load_acquire(&keyed))
        pthread_setspecific(key, heap);
}

void init_thread_watch(void)
{
    if (load_acquire(&keyed) && pthread_getspecific(key) == NULL)
        pthread_setspecific(key, &key);
}
