/* SPDX-License-Identifier: MIT */
/*
 * Programs that put themselves under a seccomp filter. They do so by prctl or syscall (libseccomp,
 * too), which are wrapped here: the filter is judged before it is installed (base/confine.h).
 * Whatever it would end the program for stops before that, with a last snapshot, and one line if
 * something was being recorded. Not seen: a filter from before the program started, and one that is
 * installed without libc. Not in the static archive, which wraps no function of libc.
 *
 * Both functions of libc only make the system call, so nothing of libc needs to be called.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/process/attach.h"
#include "lib/process/ending.h"
#include "lib/process/memory.h"

static const char notice[] =
    "memoir: the program sets a seccomp filter that would end it where memoir writes files: the "
    "last dump or snapshot is that of now (docs/CONTROL.md lists the system calls)\n";

static NOINLINE long call_judged(long number, const long *a);
static uint32_t judge(long number, const long *arguments);
static bool is_for_all(long number, const long *arguments);
static void withdraw(uint32_t denied, bool for_all);
static void others_pass(void);
static void come_back(uint32_t denied);
static long answer(long result);

EXPORT int prctl(int option, ...)
{
    enum { COUNT = 4 };
    long a[6] = {option};
    va_list rest;
    va_start(rest, option);
    for (int i = 1; i <= COUNT; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (unlikely(option == PR_SET_SECCOMP || option == PR_SET_TSC))
        return (int)call_judged(SYS_prctl, a);
    return (int)answer(arch_syscall(SYS_prctl, a[0], a[1], a[2], a[3], a[4], 0));
}

/* A child in its parent's memory changes nothing: the filter is its own. */
static NOINLINE long call_judged(long number, const long *a)
{
    uint32_t denied = memory_is_own() ? judge(number, a) & ~load_relaxed(&confine_denied) : 0;
    if (denied != 0) {
        os_tid_learn(); /* the filter may deny to ask the kernel */
        withdraw(denied, is_for_all(number, a));
    }
    long result = arch_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (denied != 0 && result < 0)
        come_back(denied);
    return answer(result);
}

/* What a call with these arguments denies, if it is one that sets a filter. */
static uint32_t judge(long number, const long *arguments)
{
    if (number == SYS_prctl && arguments[0] == PR_SET_TSC)
        return (int)arguments[1] == PR_TSC_SIGSEGV ? CONFINE_CLOCK : 0;
    bool by_prctl = number == SYS_prctl && arguments[0] == PR_SET_SECCOMP;
    if (!by_prctl && number != SYS_seccomp)
        return 0;
    long mode = by_prctl ? arguments[1] : arguments[0];
    long strict = by_prctl ? SECCOMP_MODE_STRICT : SECCOMP_SET_MODE_STRICT;
    long filter = by_prctl ? SECCOMP_MODE_FILTER : SECCOMP_SET_MODE_FILTER;
    if (mode == strict)
        return CONFINE_ALL | CONFINE_CLOCK;
    return mode == filter ? confine_judge((uintptr_t)arguments[2]) : 0;
}

static bool is_for_all(long number, const long *arguments)
{
    return number == SYS_seccomp && (arguments[1] & SECCOMP_FILTER_FLAG_TSYNC);
}

static void withdraw(uint32_t denied, bool for_all)
{
    bool may_signal = !confined(CONFINE_LEAKS);
    static bool told; /* a child that installs another filter has nothing to add */
    if ((denied & CONFINE_FILES) && triggers_wanted()) {
        triggers_exit("seccomp filter");
        if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
            message_write(notice, sizeof notice - 1);
    }
    store_relaxed(&confine_ticks_last, arch_ticks());
    dumps_confine(denied);
    if (denied & CONFINE_CPU)
        cpu_withdraw(for_all && may_signal);
    if (denied & CONFINE_CONTROL)
        attach_withdraw();
    ending_apply();
    if (for_all)
        others_pass();
}

/* The filter is for all threads: one that looked at `confine_denied` before it was set makes its
 * call now. */
static void others_pass(void)
{
    enum {
        WAIT_MS = 2
    }; /* a few instructions lie between look and call; 2 ms are a turn or more */
    uint32_t never = 0;
    os_wait(&never, never, WAIT_MS);
}

static void come_back(uint32_t denied)
{
    __atomic_fetch_and(&confine_denied, ~denied, __ATOMIC_ACQ_REL);
    if (denied & CONFINE_CONTROL)
        attach_open();
    ending_apply();
}

static long answer(long result)
{
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

EXPORT long syscall(long number, ...)
{
    enum { COUNT = 6 };
    long a[COUNT];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < COUNT; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (unlikely(number == SYS_seccomp || number == SYS_prctl))
        return call_judged(number, a);
    return answer(arch_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}
