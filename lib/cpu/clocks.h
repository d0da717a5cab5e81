/* SPDX-License-Identifier: MIT */
/*
 * A clock for each thread: a timer of the kernel that counts the thread's own CPU time and
 * interrupts it. The kernel looks at such timers once a tick (some 100 to 1,000 times a second, and
 * only while the thread runs) and tells how many expirations one signal stands for; a sample is
 * weighted by that, so sums are right at any rate.
 *
 * A thread that ends between two ticks would never be sampled, however many such threads there are.
 * What is left of an ended thread belongs to what it was found doing before; where it was never
 * found, it is kept in a sum for all; when it reaches a period, the next
 * thread that begins has its first expiration at once, and stands for it. So a short thread is
 * sampled with the probability that a tick finds it running. Where many threads begin before the
 * first one ends, one in eight does that in advance; what is left is spread over what these were
 * found doing (lib/cpu/ends.h).
 */
#ifndef CPU_CLOCKS_H
#define CPU_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/watch/watch.h"

/* From now on clocks ring so often and send this signal. `wall`: they count all time. */
void clocks_open(unsigned rate, int signal, bool wall);
void clocks_set_rate(unsigned rate);
uint64_t clocks_period_ns(void);
/* A clock for a thread that has none. `begins`: what the thread has used so far counts, too. False:
 * the kernel has no timer for it. */
bool clocks_arm(uint32_t number, bool begins);
/* Its timer goes; what the thread has used is noted. `ends`: it will not run any more. Returns the
 * time of expirations that the kernel had not looked at yet, if samples of the thread can stand for
 * it. */
uint64_t clocks_disarm(uint32_t number, bool ends);
/* The rate has changed: the thread will learn it in its handler, where its clocks ring at once. */
void clocks_renew(uint32_t number);
/* The clock of CPU time rings at once, and is what the rate says from then on. */
void clocks_ring(struct task *task);
/* In the handler, before anything else: takes a new rate over. If there is one, *ns is what rings
 * at the old rate had not told of yet, and this ring stands for nothing more. */
bool clocks_adopt(struct task *task, uint64_t *ns);
/* In the handler: how many periods the signal stands for, `overrun` more than one expiration;
 * *for_others: for those of ended threads, too. */
uint64_t clocks_weight(uint32_t number, int overrun, bool *for_others);
/* In the handler: what expirations stand for that the thread's clock has passed since the last that
 * was told of; for rings of another kind, which swallow each other. */
uint64_t clocks_passed_ns(struct task *task);
/* The same for one that was not heard for long: a part of it, the rest at later rings, so that no
 * sample stands for all of a time in which there was none. */
uint64_t clocks_drawn_ns(struct task *task);
/* How much of it there is. Another thread's answer is only about right. */
uint64_t clocks_unheard_ns(const struct task *task);
/* `deaf`: a thread that does not hear its clocks gets others, which send libc's signal. Else it
 * gets the usual ones again. Not in the thread itself. False if it has none, or there are no
 * others. */
bool clocks_hear(uint32_t number, bool deaf);
/* In the handler: there is no sample of `ns` that were told of. A later one, or the thread's end,
 * stands for them. */
void clocks_untell(struct task *task, uint64_t ns);
/* What ended threads have left so far, and no thread that lives stands for. The caller counts it,
 * or gives it back. */
uint64_t clocks_left_take(void);
/* Whether that is more than the next threads can stand for. */
bool clocks_left_much(void);
void clocks_left_give(uint64_t ns);

/* Where all time counts, a thread has a second timer, by the clock on the wall (lib/cpu/wall.h).
 * Its value is the thread's number with this bit. */
static const uint32_t CLOCKS_WALL = (uint32_t)1 << 31;
/* It rings next at a random moment of a stretch of `times` periods from `from_ns` on, or of more
 * periods, until the timers of all threads together ring at most 16,000 times a second. */
void clocks_look(struct task *task, uint64_t now_ns, uint64_t from_ns, uint32_t times);
uint32_t clocks_look_min(const struct task *task);
/* Threads that have such a timer. */
uint32_t clocks_walls(void);

/* A timer of the process that rings 10 times a second of CPU time, in whichever thread, while no
 * thread's own clock is heard: so threads that did not begin through us are found. Its value is
 * that of TASK_NONE. `libcs`: libc's signal may be sent. Then a second timer sends it, once a
 * second of CPU time; where all time counts, once a second. */
void clocks_scout(bool on, bool libcs);
/* There are deaf threads, perhaps no others: from now on the first timer sends libc's signal, and
 * the second one is gone. Not `deaf`: that signal may not be sent any more. */
void clocks_scout_deaf(bool deaf);
/* In the handler, when a thread's own clock has rung: puts off the timers above. Their signal goes
 * to the process; the kernel may wake one thread for it and let another one take it, and then
 * epoll_wait and sigtimedwait fail with EINTR in the first. True if it is time to do what follows a
 * ring of theirs. */
bool clocks_heard(void);
/* Around a thread's changes to its own clock outside of a handler, while the profile runs: its end
 * waits for them, a second at most, before it removes the clocks of other threads. */
void clocks_own_begin(void);
void clocks_own_end(void);
void clocks_settle(void);
/* In a forked child: its timers are the parent's. */
void clocks_forked(void);

#endif
