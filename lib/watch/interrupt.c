/* SPDX-License-Identifier: MIT */
/* See lib/watch/interrupt.h. */
#include "lib/watch/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "base/arch.h"
#include "base/attach.h"
#include "base/compiler.h"
#include "base/os.h"
#include "base/os_thread.h"

static interrupt_hearer *hearers[INTERRUPTS];

static void on_signal(int signal, siginfo_t *info, void *context);

void interrupt_hear(enum interrupt kind, interrupt_hearer *hearer)
{
    store_release(&hearers[kind], hearer);
}

bool interrupt_open(int signal)
{
    return os_handler_set(signal, on_signal) || interrupt_is_open(signal);
}

bool interrupt_is_open(int signal)
{
    return os_handler(signal) == (const void *)on_signal;
}

void interrupt_close(int signal)
{
    os_signal_drop(signal, (void (*)(int))(uintptr_t)on_signal);
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

/* The low half of the address of the struct: the stack pointer tells the other half. */
static __thread uint32_t waiting;
static bool frequent;
static const uintptr_t CHECK = (uintptr_t)0x77616974696e6731;

/* A wrapper that a handler of the program's jumped out of may have left `waiting` as it was: the
 * frame of a wrapper that waits is a little above the call. */
static FOREIGN void wait_cut(char *frame, ucontext_t *context)
{
    enum { NEAR = 2048 };
    uintptr_t sp = *(uintptr_t *)(frame + ARCH_SIGNAL_SP);
    uint32_t distance = waiting - (uint32_t)sp;
    struct interrupt_wait *wait = (struct interrupt_wait *)(sp + distance);
    if (likely(waiting == 0) || distance > NEAR || sp % sizeof sp != 0 ||
        wait->check != (CHECK ^ (uintptr_t)wait) || !arch_call_interrupted(frame))
        return;
    if (!wait->blocked)
        memcpy(&wait->mask, &context->uc_sigmask, sizeof wait->mask);
    wait->blocked = wait->ours = true;
    uint64_t held = os_signals_held();
    memcpy(&context->uc_sigmask, &held, sizeof held);
}

void interrupt_expect(bool value)
{
    store_relaxed(&frequent, value);
}

/* `waits`: the call may take time at all. */
bool interrupt_wait_begin(struct interrupt_wait *wait, bool waits)
{
    wait->outer = waiting;
    wait->check = CHECK ^ (uintptr_t)wait;
    wait->ours = wait->blocked = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    waiting = (uint32_t)(uintptr_t)wait;
    if (unlikely(load_relaxed(&frequent)) && waits) {
        os_signals_set(os_signals_held(), &wait->mask);
        wait->blocked = true;
    }
    return wait->blocked;
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
    for (uint64_t left = os_signals_pending() & ~mask; left != 0; left &= left - 1)
        if (!interrupt_is_open(__builtin_ctzll(left) + 1))
            return true;
    return false;
}

bool interrupt_wait_anew(struct interrupt_wait *wait)
{
    if (!interrupt_wait_again(wait) || others_pending(wait->mask))
        return false;
    wait->blocked = false;
    os_signals_set(wait->mask, NULL);
    return true;
}

void interrupt_wait_end(struct interrupt_wait *wait)
{
    waiting = wait->outer;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    wait->check = 0;
    if (unlikely(wait->blocked))
        os_signals_set(wait->mask, NULL);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    wait_cut((char *)context - ARCH_SIGNAL_CONTEXT, context);
    if (info->si_code == SI_TIMER && is_marked(info))
        pass(INTERRUPT_CPU, info, context);
    else if (info->si_code == SI_QUEUE && is_marked(info))
        pass(INTERRUPT_STOP, info, context);
    else if (info->si_code == SI_QUEUE && info->si_value.sival_int == ATTACH_VALUE)
        pass(INTERRUPT_CONTROL, info, context);
}
