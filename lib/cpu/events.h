/* SPDX-License-Identifier: MIT */
/*
 * Perf events: a second clock of a thread, for rates above the kernel's tick, at which timers ring
 * at most. A thread begins with its timer alone; when that has rung once, a thread of ours opens
 * the event, whose descriptor so has no number in the program, and threads that live for less
 * than a tick never pay for one. From the event's first ring on the timer does less.
 *
 * Where the kernel lets a process sample user mode only (perf_event_paranoid 2), the event stands
 * for user time, and the timer, which then rings at every tick, for system time. Where it allows
 * none (containers, paranoid 3), the timer stays alone, and a sample stands for several periods.
 */
#ifndef CPU_EVENTS_H
#define CPU_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/watch/watch.h"

/* The profile starts, or its rate has changed. There are events only if `signal` is ignored by
 * default, since one that is pending survives exec. */
void events_open(int signal);
/* What has rung since then. */
enum recorder_cpu_source events_source(void);
/* Whether the thread should have an event, and none was tried yet. One that blocks our signal would
 * not hear it. */
bool events_missing(const struct task *task);
/* In a thread of ours with descriptors of its own: opens all that are missing. */
void events_arm(void);
/* The thread has no event any more, and its timer is its clock again. */
void events_disarm(struct task *task);
/* In a forked child: the event stayed in the parent. */
void events_forget(struct task *task);

/* In the handler: the rate has changed, and the timer is the thread's clock until an event of the
 * new rate rings. */
void events_begin_anew(struct task *task);
/* In the handler: the event rang. Returns the nanoseconds that it stands for. */
uint64_t events_ring(struct task *task);
/* In the handler: the timer rang. False: it is the thread's only clock; else *ns is what it stands
 * for. */
bool events_timer(struct task *task, uint64_t *ns);

#endif
