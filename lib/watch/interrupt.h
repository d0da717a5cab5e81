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
    INTERRUPT_CONTROL, /* a client wants to be heard (base/attach_protocol.h) */
    INTERRUPT_CPU,     /* a thread's clock rang (lib/cpu) */
    INTERRUPT_STOP,    /* the thread must stand still for a moment (lib/leak) */
    INTERRUPT_PASS,    /* nothing: it is to have been interrupted */
    INTERRUPTS
};

/* Called in any thread, at any moment, with all signals blocked: only kernel calls, errno stays.
 * `info` is a siginfo_t, `context` what unwind_context takes. */
typedef void interrupt_hearer(const void *info, void *context);
void interrupt_hear(enum interrupt kind, interrupt_hearer *hearer);
/* Waits, for a second at most, for hearers that run in other threads: what they were called for has
 * ended before. */
void interrupt_settle(void);

/* Interrupts all threads that have rows (lib/watch/tasks.h) and waits until they were, but not long
 * for those that block the signal. A thread that was about to begin a wait with all signals blocked
 * (`interrupt_wait_begin`) has begun it then. */
void interrupt_all(int signal);

/* Sets the handler for the signal. False: the program has one of its own. */
bool interrupt_open(int signal);
/* Whether a handler is ours. */
bool interrupt_is_ours(const void *handler);
/* The signal does again what it does by itself. */
void interrupt_close(int signal);

/*
 * The signal that libc keeps for itself (glibc calls it SIGSETXID, musl SIGCANCEL): its functions
 * never block it. Ours takes the place of libc's handler, and calls that for all that is not for
 * us, as libc's own does nothing for ours. False: it can't be done.
 */
enum { INTERRUPT_LIBCS = 33 };
/* In a set of signals: that one, and the one below, by which glibc cancels threads. */
#define INTERRUPT_OF_LIBC (UINT64_C(3) << (INTERRUPT_LIBCS - 2))
bool interrupt_open_libcs(void);
/* Whether a thread that waits in this system call goes on to wait after our handler. */
bool interrupt_spares(long call);

/*
 * A program may set a handler of its own for the signal while we need it (Go sets one for nearly
 * every signal). Ours then stays and passes on every signal that is not for us, as the kernel would
 * have delivered it; the program sees what it has set (lib/process/disposition.c).
 */
struct sigaction;
/* From now on the signal is shared. */
void interrupt_share(int signal);
/* The same where the program has a handler already: ours takes its place. */
bool interrupt_take_over(int signal);
/* The program calls our sigaction: `interrupt_take_over` can work. */
void interrupt_wrapped(void);
/* Whether the calling process shares the signal; a child of vfork has its own handlers. */
bool interrupt_is_shared(int signal);
/* What the program has set for a shared signal, and what it sets now; NULL: nothing. */
void interrupt_exchange(int signal, const struct sigaction *action, struct sigaction *before);
/* In a handler of ours, for any signal: calls the program's, as the kernel would have done, with
 * its mask of signals. `info` is a siginfo_t. */
void interrupt_call(const struct sigaction *action, int signal, void *info, void *context);

/*
 * System calls that wait and that the kernel does not begin again after a handler, whatever flags
 * that has: poll, nanosleep and others. Their wrappers (lib/process/sleep.c) tell that the thread
 * is in such a call. If our signal cuts it short, the handler leaves all signals blocked, so that
 * none of the program's is lost; the wrapper begins again with a call that lets them through while
 * it waits (ppoll and others take `mask`), and in the end `interrupt_wait_end` puts the mask back.
 */
struct interrupt_wait {
    uintptr_t check; /* the struct is still what it was: no jump has left its frame */
    uint32_t outer;  /* the one around it, in a signal handler of the program's */
    uint64_t mask;   /* the thread's own, once we have blocked all */
    bool ours;       /* our signal came */
    bool blocked;
    bool open; /* no signal is to be blocked when ours cuts the wait short */
};
/* True: interrupts are frequent, and all signals are blocked from the start. Otherwise one of the
 * program's that has just ended a call, a microsecond before one of ours, is taken for ours. */
bool interrupt_wait_begin(struct interrupt_wait *wait, bool waits);
/* Whether they are frequent: while a profile runs. */
void interrupt_expect(bool frequent);
/* Whether the call, which failed with EINTR, was cut short by us alone. */
bool interrupt_wait_again(struct interrupt_wait *wait);
void interrupt_wait_end(struct interrupt_wait *wait);
/* For calls that let no signals through while they wait: the same as `interrupt_wait_again`, and
 * signals are let through before the call is made again. False, too, if one of the program's has
 * come. */
void interrupt_wait_begin_anew(struct interrupt_wait *wait);
bool interrupt_wait_anew(struct interrupt_wait *wait);
/* Blocks signals before the call, or between two calls. */
void interrupt_wait_hold(struct interrupt_wait *wait);
/* Lets them through again. True: one of the program's has come since, and its handler has run. */
bool interrupt_wait_came(struct interrupt_wait *wait);
/* Lets signals through. */
void interrupt_wait_open(struct interrupt_wait *wait);

/* Whether a signal that a thread was handed without a handler (sigwait) is one of ours. A client's
 * request is heard then; the others are of no use outside of a handler. */
bool interrupt_take(const void *info);

/* From now on a signal of this number that tells of a descriptor is a clock's (os_event_make). */
void interrupt_expect_events(int signal);

/* The value that the timer of a clock, or a call of ours, sends: a number (of a task, of a place),
 * and what tells it from others. */
enum { INTERRUPT_MARK = 0x6d656d32 };
static inline uintptr_t interrupt_value(uint32_t number)
{
    return (uintptr_t)INTERRUPT_MARK << 32 | number;
}

/* In a forked child: another thread of its parent may have been changing an action. */
void interrupt_forked(void);

#endif
