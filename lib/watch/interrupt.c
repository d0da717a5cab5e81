/* SPDX-License-Identifier: MIT */
/* See lib/watch/interrupt.h. */
#include "lib/watch/interrupt.h"

#include <signal.h>
#include <stddef.h>

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

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    if (info->si_code == SI_TIMER && is_marked(info))
        pass(INTERRUPT_CPU, info, context);
    else if (info->si_code == SI_QUEUE && is_marked(info))
        pass(INTERRUPT_STOP, info, context);
    else if (info->si_code == SI_QUEUE && info->si_value.sival_int == ATTACH_VALUE)
        pass(INTERRUPT_CONTROL, info, context);
}
