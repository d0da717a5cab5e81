/* SPDX-License-Identifier: MIT */
/*
 * See lib/process/disposition.h. Not in the static archive, where libc's functions behind ours
 * can't be reached. The wrappers may be called in signal handlers and after vfork, so libc's
 * functions are looked up early.
 */
#define _GNU_SOURCE
#include "lib/process/disposition.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alternate.h"
#include "base/arch.h"
#include "base/compiler.h"
#include "base/os.h"
#include "lib/cpu/cpu.h"
#include "lib/guard/guard.h"
#include "lib/process/ending.h"
#include "lib/process/memory.h"
#include "lib/process/next.h"
#include "lib/process/signal_stack.h"
#include "lib/watch/watch.h"

typedef void handler(int number);
typedef handler *setter(int number, handler *value);

handler *bsd_signal(int number, handler *value);
handler *ssignal(int number, handler *value);
handler *sysv_signal(int number, handler *value);
handler *__sysv_signal(int number, handler *value);
handler *sigset(int number, handler *value);

static bool hiding;
/* libc's functions, once they are known. */
static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);
static setter *next_signal, *next_sysv, *next_sigset;

static int set(int number, const struct sigaction *action, struct sigaction *before);
static bool is_hidden(int number, const void *value);
static bool is_shared(int number);
static bool is_one_of_ours(handler *value);
static struct sigaction ours(void);
static void set_take(sigset_t *set, int number);

EXPORT int sigaction(int number, const struct sigaction *restrict action,
                     struct sigaction *restrict before)
{
    struct sigaction own = ours(), kept;
    interrupt_wrapped();
    if (fault_is_ours(number)) { /* ours stays, and passes on other faults */
        fault_get(&kept);
        if (action != NULL)
            fault_set(action);
        if (before != NULL)
            *before = kept;
        return 0;
    }
    if (is_shared(number)) {
        interrupt_exchange(number, action, before);
        return 0;
    }
    if (fault_is_ours(SIGSEGV) && action != NULL) {
        kept = *action;
        set_take(&kept.sa_mask, SIGSEGV);
        action = &kept;
    }
    bool hidden = action != NULL && is_hidden(number, action->sa_handler);
    int result = set(number, hidden ? &own : action, before);
    if (result == 0 && before != NULL && is_one_of_ours(before->sa_handler))
        memset(before, 0, sizeof *before);
    return result;
}

/* libc's sigdelset, without another symbol of libc's. */
static void set_take(sigset_t *set, int number)
{
    uint64_t mask;
    memcpy(&mask, set, sizeof mask);
    mask &= ~(UINT64_C(1) << (number - 1));
    memcpy(set, &mask, sizeof mask);
}

static int set(int number, const struct sigaction *action, struct sigaction *before)
{
    next_of((void **)&next_sigaction, "sigaction");
    return next_sigaction(number, action, before);
}

static bool is_hidden(int number, const void *value)
{
    return value == SIG_DFL && number >= 1 && number <= 64 && ENDING_SIGNALS >> (number - 1) & 1 &&
           load_relaxed(&hiding);
}

/* A child that was not noticed yet would lose our handler to the program's. */
static bool is_shared(int number)
{
    memory_look();
    return interrupt_is_shared(number);
}

static bool is_one_of_ours(handler *value)
{
    return value == ending_handler || interrupt_is_ours((const void *)value);
}

static struct sigaction ours(void)
{
    struct sigaction action = {0};
    action.sa_handler = ending_handler;
    action.sa_flags = SA_RESTART | alternate_flag((const void *)ending_handler);
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    return action;
}

/* The older functions set a handler and nothing else; our flags and mask are set after it. */
static handler *set_by(setter *next, int number, handler *value, int flags)
{
    struct sigaction own = ours(), kept, wanted = {.sa_handler = value, .sa_flags = flags};
    if (fault_is_ours(number)) {
        fault_get(&kept);
        fault_set(&wanted);
        return kept.sa_handler;
    }
    if (is_shared(number)) {
        interrupt_exchange(number, &wanted, &kept);
        return kept.sa_handler;
    }
    bool hidden = is_hidden(number, value);
    handler *before = next(number, hidden ? ending_handler : value);
    if (hidden && before != SIG_ERR)
        set(number, &own, NULL);
    return is_one_of_ours(before) ? SIG_DFL : before;
}

EXPORT handler *signal(int number, handler *value)
{
    return set_by(next_of((void **)&next_signal, "signal"), number, value, SA_RESTART);
}

EXPORT handler *bsd_signal(int number, handler *value)
{
    return signal(number, value);
}

EXPORT handler *ssignal(int number, handler *value)
{
    return signal(number, value);
}

EXPORT handler *__sysv_signal(int number, handler *value)
{
    return set_by(next_of((void **)&next_sysv, "__sysv_signal"), number, value,
                  (int)(SA_RESETHAND | SA_NODEFER));
}

EXPORT handler *sysv_signal(int number, handler *value)
{
    return __sysv_signal(number, value);
}

EXPORT handler *sigset(int number, handler *value)
{
    return set_by(next_of((void **)&next_sigset, "sigset"), number, value, 0);
}

/* A fault of a thread that blocks SIGSEGV would end the program without a report. libc's function
 * only makes the system call, and leaves its own signals alone. */
EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    enum { LIBC_FIRST = 32, KERNEL_SET = 8 };
    uint64_t mask = 0;
    if (set != NULL) {
        memcpy(&mask, set, sizeof mask);
        if (how != SIG_UNBLOCK)
            mask &= ~(((UINT64_C(1) << (SIGRTMIN - LIBC_FIRST)) - 1) << (LIBC_FIRST - 1));
        if (how != SIG_UNBLOCK && fault_is_ours(SIGSEGV))
            mask &= ~(UINT64_C(1) << (SIGSEGV - 1));
    }
    return (int)-arch_syscall(SYS_rt_sigprocmask, how, set == NULL ? 0 : (long)&mask, (long)before,
                              KERNEL_SET, 0, 0);
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    int error = pthread_sigmask(how, set, before);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

/* libc's function only makes the system call. No signal comes before the stack was looked at. One
 * of a child in its parent's memory is no thread's of the parent. */
EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict before)
{
    uint64_t mask;
    os_signals_set(~(uint64_t)0, &mask);
    long result = arch_syscall(SYS_sigaltstack, (long)stack, (long)before, 0, 0, 0, 0);
    if (result == 0 && stack != NULL && memory_is_own()) {
        signal_stack_set(stack);
        if (alternate_small())
            deaf_leave();
    }
    os_signals_set(mask, NULL);
    if (result < 0)
        errno = (int)-result;
    return result < 0 ? -1 : 0;
}

/* Once, in our constructor: in a handler or in a thread of ours the loader can't be asked. */
static bool looked_up(void)
{
    static bool done, in_force;
    if (!done) {
        next_of((void **)&next_sigaction, "sigaction");
        next_of((void **)&next_signal, "signal");
        next_of((void **)&next_sysv, "__sysv_signal");
        next_of((void **)&next_sigset, "sigset");
        in_force = dlsym(RTLD_DEFAULT, "sigaction") == (void *)sigaction;
        done = true;
    }
    return in_force;
}

void disposition_hide(bool hidden)
{
    struct sigaction own = ours(), now;
    if (!looked_up())
        return;
    store_relaxed(&hiding, hidden);
    for (int number = 1; number <= 64; number++) {
        if (!(ENDING_SIGNALS >> (number - 1) & 1))
            continue;
        if (!hidden)
            os_signal_drop(number, ending_handler);
        else if (set(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            set(number, &own, NULL);
    }
}
