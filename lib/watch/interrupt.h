/* SPDX-License-Identifier: MIT */
/*
 * Interrupting a thread: one handler for everything that we want of the program's threads, under
 * a signal that is ignored by default (SIGURG), so that a late one does no harm. What it is for is
 * told by how it was sent and by the value that it carries.
 */
#ifndef WATCH_INTERRUPT_H
#define WATCH_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

enum interrupt {
    INTERRUPT_CONTROL, /* a client wants to be heard (base/attach.h) */
    INTERRUPT_CPU,     /* a thread's clock rang (lib/cpu) */
    INTERRUPT_STOP,    /* the thread must stand still for a moment (lib/leak) */
    INTERRUPTS
};

/* Called in any thread, at any moment, with all signals blocked: only kernel calls, errno stays.
 * `info` is a siginfo_t, `context` what unwind_context takes. */
typedef void interrupt_hearer(const void *info, void *context);
void interrupt_hear(enum interrupt kind, interrupt_hearer *hearer);

/* Sets the handler for the signal. False: the program has one of its own. */
bool interrupt_open(int signal);
/* Whether the signal has our handler now. */
bool interrupt_is_open(int signal);
/* The signal does again what it does by itself. */
void interrupt_close(int signal);

/* The value that the timer of a clock, or a call of ours, sends: a number (of a task, of a place),
 * and what tells it from others. */
enum { INTERRUPT_MARK = 0x6d656d32 };
static inline uintptr_t interrupt_value(uint32_t number)
{
    return (uintptr_t)INTERRUPT_MARK << 32 | number;
}

#endif
