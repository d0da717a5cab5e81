/* SPDX-License-Identifier: MIT */
/*
 * See lib/process/ending.h. The handler may have interrupted anything. If its thread is inside the
 * allocator, it returns, because the snapshot may need a lock of that thread; the program continues
 * while the snapshot is written. Otherwise the thread stays in the handler, so that no code after a
 * raise() is reached.
 */
#include "lib/process/ending.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/print.h"
#include "lib/dump/dump.h"
#include "lib/process/disposition.h"
#include "lib/watch/watch.h"

enum {
    STACK_SIZE = 256 << 10, /* a snapshot's */
    WAIT_MS = 2000,         /* how long the snapshot may take */
    HANDLER_MS = 3000,      /* how long the handler waits, if all else fails */
    /* One cause may send a signal several times: to the process, its group and its session. A
     * signal that comes later than this is from a user who does not want to wait. */
    ECHO_MS = 250,
    FIRST_PROCESS = 1, /* of a namespace: the kernel ignores its signals without a handler */
};

static const char no_thread[] =
    "memoir: the capture lacks the end of the run: the system gave no thread to write it; "
    "capture.interval makes snapshots more frequent\n";
static pid_t owner;       /* a vfork child has the handlers, and its parent's memory */
static uint64_t since_ms; /* when the end began; 0: it has not */
static int number_first;
static uint32_t written;

static void last_snapshot_thread(void);
static void writer_run(void);
static void die(int number);
static void stay(int number);

void ending_apply(void)
{
    if (disposition_hide == NULL)
        return;
    bool wanted = !confined(CONFINE_ENDING | CONFINE_FILES) && config.capture_signals &&
                  config.capture[0] != '\0' && !os_secure() && os_pid() != FIRST_PROCESS &&
                  os_thread_prepare();
    store_release(&owner, os_pid());
    disposition_hide(wanted);
}

void ending_forked(void)
{
    store_relaxed(&since_ms, 0);
    store_relaxed(&written, 0);
    store_release(&owner, os_pid());
}

/* In any thread, at any moment, with all signals blocked. Only kernel calls: errno does not change.
 */
void ending_handler(int number)
{
    uint64_t before = 0, now_ms = os_now_ms();
    if (load_acquire(&owner) != os_pid()) {
        die(number);
        return;
    }
    if (__atomic_compare_exchange_n(&since_ms, &before, now_ms, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        number_first = number;
        if (os_thread_start(last_snapshot_thread, STACK_SIZE) != 0) {
            message_write(no_thread, sizeof no_thread - 1);
            die(number);
        }
    } else if (now_ms - before > ECHO_MS) {
        die(number);
    }
    if (lock_held == 0)
        stay(number);
}

/* Ends the program now. Returns only if the program has installed a handler since, which has then
 * run. */
static void die(int number)
{
    os_signal_drop(number, ending_handler);
    os_signal_thread(number);
    os_signals_unblock((uint64_t)1 << (number - 1));
}

/* Waits for the end. Accepts the next signal meanwhile. */
static void stay(int number)
{
    static uint32_t never;
    os_signals_unblock(ENDING_SIGNALS);
    while (os_now_ms() - load_relaxed(&since_ms) < HANDLER_MS)
        os_wait(&never, 0, HANDLER_MS);
    die(number);
}

static void last_snapshot_thread(void)
{
    int number = number_first;
    os_thread_rename("memoir");
    if (os_thread_start(writer_run, STACK_SIZE) == 0)
        for (uint64_t spent = 0; load_acquire(&written) == 0 && spent < WAIT_MS;
             spent = os_now_ms() - load_relaxed(&since_ms))
            os_wait(&written, 0, (uint32_t)(WAIT_MS - spent));
    /* To any thread: the program may handle or block the signal by now, and then that counts. */
    os_signal_drop(number, ending_handler);
    os_signal_process(number);
}

static void writer_run(void)
{
    char text[32];
    struct print words;
    print_start(&words, text, sizeof text);
    print_format(&words, "signal %d", number_first);
    os_thread_rename("memoir");
    triggers_exit(print_string(&words));
    dump_recorder_end();
    store_release(&written, 1);
    os_wake(&written, 1);
}
