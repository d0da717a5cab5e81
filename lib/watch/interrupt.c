/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/interrupt.h. The handler first finds out what a signal is for: a value with our
 * mark that a timer or a thread of ours sent, or a client's request. Everything else is the
 * program's, and is passed on where it has set a handler since; what it has set is read without a
 * lock, since the handler may interrupt the thread that sets it.
 */
#include "lib/watch/interrupt.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/arch.h"
#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/watch/tasks.h"
#include "lib/watch/unwind.h"

static interrupt_hearer *hearers[INTERRUPTS];

/* PATIENCE_MS: after that the other thread is taken to be stopped, and not waited for. */
enum { SIGNALS = 64, PATIENCE_MS = 1000 };
static const uintptr_t PASS_VALUE = (uintptr_t)0x6d656d33 << 32;
static BULK struct sigaction programs[SIGNALS + 1]; /* what the program has set; by `version` */
static uint64_t shared;                             /* a bit for each signal */
static uint32_t version, changing;
static bool wrapped;
static uint32_t inside; /* threads that are in our handler */
static uint32_t passed; /* answers to `interrupt_all` */

static void on_signal(int signal, siginfo_t *info, void *context);
static void on_libcs(int signal, siginfo_t *info, void *context);

void interrupt_hear(enum interrupt kind, interrupt_hearer *hearer)
{
    store_release(&hearers[kind], hearer);
}

static bool is_open(int signal)
{
    return interrupt_is_ours(os_handler(signal));
}

bool interrupt_open(int signal)
{
    return os_handler_set(signal, on_signal) || is_open(signal);
}

bool interrupt_is_ours(const void *handler)
{
    return handler == (const void *)on_signal || handler == (const void *)on_libcs;
}

/* Where the program has set a handler meanwhile, ours stays for its sake. */
void interrupt_close(int signal)
{
    if (!interrupt_is_shared(signal) || programs[signal].sa_handler == SIG_DFL)
        os_signal_drop(signal, (void (*)(int))(uintptr_t)on_signal);
}

/* ---- signals that the program has handlers for, too ---- */

void interrupt_share(int signal)
{
    __atomic_fetch_or(&shared, (uint64_t)1 << (signal - 1), __ATOMIC_RELEASE);
}

void interrupt_wrapped(void)
{
    store_relaxed(&wrapped, true);
}

bool interrupt_take_over(int signal)
{
    struct sigaction before;
    if (!load_relaxed(&wrapped) || !os_handler_replace(signal, on_signal, &before))
        return false;
    if (!interrupt_is_shared(signal))
        interrupt_exchange(signal, &before, NULL);
    interrupt_share(signal);
    return true;
}

bool interrupt_is_shared(int signal)
{
    return signal >= 1 && signal <= SIGNALS && load_acquire(&shared) >> (signal - 1) & 1 &&
           !os_shares_memory();
}

/* With all signals blocked, so that a handler never waits for what it interrupted. */
void interrupt_exchange(int signal, const struct sigaction *action, struct sigaction *before)
{
    uint64_t mask;
    os_signals_set(~(uint64_t)0, &mask);
    turn_wait(&changing, PATIENCE_MS);
    if (before != NULL)
        *before = programs[signal];
    if (action != NULL) {
        __atomic_add_fetch(&version, 1, __ATOMIC_ACQ_REL);
        programs[signal] = *action;
        __atomic_add_fetch(&version, 1, __ATOMIC_RELEASE);
    }
    turn_give(&changing);
    os_signals_set(mask, NULL);
}

static struct sigaction program_of(int signal)
{
    struct sigaction action;
    for (unsigned waited_ms = 0;;) {
        uint32_t before = load_acquire(&version);
        action = programs[signal];
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        bool changes = before % 2 != 0;
        if ((!changes && before == load_relaxed(&version)) || waited_ms == PATIENCE_MS)
            return action;
        if (changes) {
            os_wait(&version, before, 1);
            waited_ms++;
        }
    }
}

void interrupt_settle(void)
{
    uint64_t from_ms = os_now_ms();
    for (uint32_t now; (now = load_acquire(&inside)) != 0 && os_now_ms() - from_ms < PATIENCE_MS;)
        os_wait(&inside, now, 1);
}

void interrupt_all(int signal)
{
    enum { WAIT_MS = 500 }; /* threads that block the signal never answer */
    uint32_t sent = 0, before = load_relaxed(&passed), own = (uint32_t)os_tid();
    for (uint32_t number = 1; number < tasks_count(); number++) {
        const struct task *task = tasks_at(number);
        if (load_acquire(&task->state) == TASK_LIVES && task->tid != own)
            sent += os_signal_queue(
                (pid_t)task->tid, load_relaxed(&task->deaf) ? INTERRUPT_LIBCS : signal, PASS_VALUE);
    }
    uint64_t from_ms = os_now_ms();
    for (uint32_t now; (now = load_acquire(&passed)) - before < sent;) {
        if (os_now_ms() - from_ms >= WAIT_MS)
            return;
        os_wait(&passed, now, 1);
    }
}

void interrupt_forked(void)
{
    store_relaxed(&inside, 0);
    store_relaxed(&changing, 0);
    store_relaxed(&version, (version + 1) & ~1u);
}

/* Locks of priority inheritance begin again after every handler, and libc takes any other end of
 * the call for the lock. */
static bool futex_may_end(const char *frame)
{
    long operation = *(const long *)(frame + arch_signal_slot(ARCH_CALL_SECOND)) & FUTEX_CMD_MASK;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

/* Calls that the kernel makes again after a handler with SA_RESTART, and would end with EINTR after
 * one without. */
static bool is_made_again(long call)
{
    switch (call) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_openat:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_getrandom:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
#ifdef SYS_open
    case SYS_open:
#endif
        return true;
    default:
        return false;
    }
}

/* Calls that end after any handler, and that wrappers begin again (lib/process/sleep.c). */
static bool is_wrapped(long call)
{
    switch (call) {
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    case SYS_semtimedop:
    case SYS_semop:
    case SYS_msgrcv:
    case SYS_msgsnd:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
        return !os_static();
    default:
        return false;
    }
}

bool interrupt_spares(long call)
{
    return call == SYS_futex || is_made_again(call) || is_wrapped(call);
}

/* Whether the kernel makes a call again that may wait without end, and that it would end with EINTR
 * for a handler without SA_RESTART. Code that is just about to make one for the second time looks
 * the same. */
static bool waits_again(const char *frame)
{
    long call = arch_call_again(frame, os_readable);
    return call == SYS_futex ? futex_may_end(frame) : is_made_again(call);
}

/* To the program's handler, as the kernel would have called it. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    struct sigaction action = program_of(signal), plain = {0};
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        return;
    if (action.sa_flags & (int)SA_RESETHAND)
        interrupt_exchange(signal, &plain, NULL);
    char *frame = (char *)context - ARCH_SIGNAL_CONTEXT;
    if (!(action.sa_flags & SA_RESTART) && waits_again(frame))
        arch_call_end(frame);
    interrupt_call(&action, signal, info, context);
}

void interrupt_call(const struct sigaction *action, int signal, void *info, void *context)
{
    uint64_t mask = 0, own = 0;
    memcpy(&mask, &((ucontext_t *)context)->uc_sigmask, sizeof mask);
    memcpy(&own, &action->sa_mask, sizeof own);
    mask |= own;
    if (!(action->sa_flags & SA_NODEFER))
        mask |= (uint64_t)1 << (signal - 1);
    os_signals_set(mask, NULL);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, info, context);
    else
        action->sa_handler(signal);
}

static void pass(enum interrupt kind, const siginfo_t *info, void *context)
{
    interrupt_hearer *hearer = load_acquire(&hearers[kind]);
    if (hearer != NULL)
        hearer(info, context);
}

/* A value that a timer or a call of ours chose. */
static bool is_marked(const siginfo_t *info)
{
    return (uintptr_t)info->si_value.sival_ptr >> 32 == INTERRUPT_MARK;
}

static int event_signal;

void interrupt_expect_events(int signal)
{
    store_relaxed(&event_signal, signal);
}

/* The low half of the address of the struct: the stack pointer tells the other half. */
static __thread uint32_t waiting;
static bool frequent;
static const uintptr_t CHECK = (uintptr_t)0x77616974696e6731;

/* Those that libc keeps for itself are not blocked in waits: a thread that is cancelled in such a
 * call waits in it for the signal that cancels it. */
static uint64_t held_in_waits(void)
{
    return os_signals_held() & ~INTERRUPT_OF_LIBC;
}

/* Whether libc's functions may begin a wait again by themselves, as musl's do. In between they do
 * not return to the wrapper, which would have to let signals through. */
#ifdef __GLIBC__
enum { LIBC_GOES_ON = 0 };
#else
enum { LIBC_GOES_ON = 1 };
#endif

extern HIDDEN const char __ehdr_start[], _end[];

/* A jump out of the wrapper leaves its struct on the stack, perhaps amid the frame of a function
 * that the program has called since. */
static bool is_left(const struct interrupt_wait *wait, const void *context)
{
    const char *holder =
        confined(CONFINE_WAITS) ? NULL : (const char *)unwind_holder(context, (uintptr_t)wait);
    return holder != NULL && (holder < __ehdr_start || holder >= _end);
}

/* A wrapper that a handler of the program's jumped out of may have left `waiting` as it was: the
 * frame of a wrapper that waits is a little above the call. */
static FOREIGN void wait_cut(char *frame, ucontext_t *context)
{
    enum { NEAR = 2048 }; /* bytes: the frames of the wrapper and of libc's function below it */
    uintptr_t sp = *(uintptr_t *)(frame + ARCH_SIGNAL_SP);
    uint32_t distance = waiting - (uint32_t)sp;
    struct interrupt_wait *wait = (struct interrupt_wait *)(sp + distance);
    if (likely(waiting == 0) || distance > NEAR || sp % sizeof sp != 0 ||
        wait->check != (CHECK ^ (uintptr_t)wait) || !arch_call_interrupted(frame) ||
        is_left(wait, context))
        return;
    if (wait->open) {
        wait->ours = true;
        return;
    }
    if (!wait->blocked)
        memcpy(&wait->mask, &context->uc_sigmask, sizeof wait->mask);
    /* A thread that is cancelled after our handler runs its cleanup handlers with that mask. */
    wait->blocked = (os_signals_pending() & INTERRUPT_OF_LIBC) == 0;
    wait->ours = true;
    uint64_t mask = wait->blocked ? held_in_waits() : wait->mask;
    memcpy(&context->uc_sigmask, &mask, sizeof mask);
}

void interrupt_expect(bool value)
{
    store_relaxed(&frequent, value);
}

/* `waits`: the call may take time at all. */
bool interrupt_wait_begin(struct interrupt_wait *wait, bool waits)
{
    bool blocks = unlikely(load_relaxed(&frequent)) && waits && !confined(CONFINE_WAITS);
    if (unlikely(blocks)) /* it would be cancelled in the call, with all signals blocked */
        pthread_testcancel();
    memset(wait, 0, sizeof *wait); /* with the gaps, where a pointer of an earlier frame may be */
    wait->outer = waiting;
    wait->check = CHECK ^ (uintptr_t)wait;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    waiting = (uint32_t)(uintptr_t)wait;
    if (unlikely(blocks)) {
        os_signals_set(held_in_waits(), &wait->mask);
        wait->blocked = true;
    }
    return wait->blocked;
}

void interrupt_wait_begin_anew(struct interrupt_wait *wait)
{
    interrupt_wait_begin(wait, false);
    wait->open = LIBC_GOES_ON;
}

bool interrupt_wait_again(struct interrupt_wait *wait)
{
    bool ours = *(volatile bool *)&wait->ours;
    wait->ours = false;
    return ours;
}

/* Whether a signal of the program's is to come as soon as the mask is what it was. */
static bool others_pending(uint64_t mask)
{
    for (uint64_t left = os_signals_pending() & ~mask; left != 0; left &= left - 1) {
        const void *handler = os_handler(__builtin_ctzll(left) + 1);
        if (handler != NULL && !interrupt_is_ours(handler)) /* others end no call */
            return true;
    }
    return false;
}

bool interrupt_wait_anew(struct interrupt_wait *wait)
{
    if (!interrupt_wait_again(wait) || (wait->blocked && others_pending(wait->mask)))
        return false;
    interrupt_wait_open(wait);
    return true;
}

void interrupt_wait_hold(struct interrupt_wait *wait)
{
    if (!wait->blocked)
        os_signals_set(held_in_waits(), &wait->mask);
    wait->blocked = true;
}

bool interrupt_wait_came(struct interrupt_wait *wait)
{
    bool came = others_pending(wait->mask);
    interrupt_wait_open(wait);
    return came;
}

void interrupt_wait_open(struct interrupt_wait *wait)
{
    if (wait->blocked)
        os_signals_set(wait->mask, NULL);
    wait->blocked = false;
}

void interrupt_wait_end(struct interrupt_wait *wait)
{
    waiting = wait->outer;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    wait->check = 0;
    if (unlikely(wait->blocked))
        os_signals_set(wait->mask, NULL);
}

/* The kernel makes the call that our signal interrupted again. A signal of the program's that waits
 * for our handler's end, and whose own handler is to end the call, would come too late for that. */
static FOREIGN void end_for_others(char *frame, const ucontext_t *context)
{
    uint64_t mask;
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    if (likely(!waits_again(frame)))
        return;
    for (uint64_t left = os_signals_pending() & ~mask; left != 0; left &= left - 1) {
        int other = __builtin_ctzll(left) + 1;
        if (os_handler_ends_calls(other) && !is_open(other)) {
            arch_call_end(frame);
            return;
        }
    }
}

/* INTERRUPTS: for nothing of ours. */
static enum interrupt kind_of(const siginfo_t *info)
{
    if ((info->si_code == SI_TIMER && is_marked(info)) ||
        (info->si_code == POLL_IN && info->si_signo == load_relaxed(&event_signal)))
        return INTERRUPT_CPU;
    if (info->si_code == SI_QUEUE && is_marked(info))
        return INTERRUPT_STOP;
    if (info->si_code == SI_QUEUE && (uintptr_t)info->si_value.sival_ptr == PASS_VALUE)
        return INTERRUPT_PASS;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == ATTACH_VALUE)
        return INTERRUPT_CONTROL;
    return INTERRUPTS;
}

bool interrupt_take(const void *info)
{
    enum interrupt kind = kind_of(info);
    uint64_t mask;
    if (kind == INTERRUPT_CONTROL) {
        os_signals_set(~(uint64_t)0, &mask);
        pass(kind, info, NULL);
        os_signals_set(mask, NULL);
    }
    return kind != INTERRUPTS;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    char *frame = (char *)context - ARCH_SIGNAL_CONTEXT;
    enum interrupt kind = kind_of(info);
    if (kind == INTERRUPTS && load_relaxed(&shared) != 0) {
        pass_on(signal, info, context);
        return;
    }
    __atomic_fetch_add(&inside, 1, __ATOMIC_ACQUIRE);
    wait_cut(frame, context);
    if (kind == INTERRUPT_PASS)
        __atomic_fetch_add(&passed, 1, __ATOMIC_RELEASE);
    else if (kind != INTERRUPTS)
        pass(kind, info, context);
    end_for_others(frame, context);
    __atomic_fetch_sub(&inside, 1, __ATOMIC_RELEASE);
}

/* ---- the signal that libc keeps for itself ---- */

static const void *libcs; /* libc's handler; set before ours is in its place */

static void on_libcs(int signal, siginfo_t *info, void *context)
{
    const void *next = load_acquire(&libcs);
    if (kind_of(info) != INTERRUPTS)
        on_signal(signal, info, context);
    else if (next != NULL)
        ((void (*)(int, siginfo_t *, void *))(uintptr_t)next)(signal, info, context);
}

static void libcs_keep(const void *handler)
{
    if (handler > (const void *)SIG_IGN && handler != (const void *)on_libcs)
        store_release(&libcs, handler);
}

/* libc sets its handler when the first thread is started, or cancelled: perhaps after ours, or
 * while ours is set. */
bool interrupt_open_libcs(void)
{
    struct sigaction before;
    const void *now = os_handler(INTERRUPT_LIBCS);
    if (now == (const void *)on_libcs)
        return true;
    libcs_keep(now);
    if (!os_handler_replace(INTERRUPT_LIBCS, on_libcs, &before))
        return false;
    libcs_keep((const void *)before.sa_sigaction);
    return true;
}
