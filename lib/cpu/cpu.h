/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/cpu, the CPU and lock observer: where the program spends its time, and where it
 * waits for locks (waits.h). Each thread has a clock
 * of its own (clocks.h) that interrupts it now and then; what it is doing then is a sample
 * (samples.h).
 *
 * There is one profile. It has two users, the options (with control and the calls of memoir.h) and
 * gperftools' functions; it runs while one of them wants it to. What the second one gets is what
 * came since its own start.
 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/cpu/course.h"
#include "lib/cpu/deaf.h"
#include "lib/cpu/samples.h"
#include "lib/cpu/waits.h"

/* A second. At the highest rate a profile is to cost less than 8 % (docs/MEASUREMENTS.md). */
enum { CPU_RATE_MIN = 1, CPU_RATE_MAX = 10000 };
enum cpu_user { CPU_OPTIONS = 1, CPU_GPERFTOOLS = 2 };

struct cpu_wish {
    unsigned rate; /* a second; 0: as it is */
    int signal;    /* 0: the one that fits best */
    bool wall;     /* all time counts, not CPU time; if it runs already, that stays as it is */
    /* In the handler, NULL: all threads are sampled. Called with `argument`; 0: not this one. */
    int (*filter)(void *argument);
    void *argument;
};

/* 0 or an errno value: EBUSY if the signal has a handler of the program's, ENOSYS where a seccomp
 * filter forbids it, EDEADLK inside of the allocator, or what the kernel says of timers. If it runs
 * already, the rate changes. */
int cpu_start(enum cpu_user user, const struct cpu_wish *wish);
/* What was sampled stays. */
void cpu_stop(enum cpu_user user);
bool cpu_wanted(enum cpu_user user);
bool cpu_runs(void);
unsigned cpu_rate(void);
/* Forgets all samples. */
void cpu_reset(void);

/* The thread that calls begins and ends: its CPU time is covered from the first to the last. Cost
 * while nothing runs: a load. */
extern uint32_t cpu_running;
void cpu_thread_begin(void);
/* `at`: the caller of the destructor. */
void cpu_thread_end(const struct caller *at);

/* The number of thread `tid`, the calling one or one that lives meanwhile; it gets a row if it has
 * none. TASK_NONE: no room, or the calling thread is inside of the allocator. */
uint32_t cpu_task_of(uint32_t tid);
/* The same of a thread that the calling one waits for; TASK_NONE also if it is no thread of this
 * process, or too many ended ones are remembered. */
uint32_t cpu_holder_of(uint32_t tid);

/* What is known about the profile as a whole. */
struct cpu_about {
    bool runs;
    unsigned rate;
    bool wall;
    const char *source;           /* which clock of the kernel */
    uint64_t first_ms;            /* of the first start; 0: there was none */
    uint64_t on_ns;               /* for how long it was on, on the wall */
    uint64_t user_ns, system_ns;  /* CPU time of the process meanwhile */
    uint64_t samples, sampled_ns; /* and what samples stand for */
    uint64_t lost;                /* expirations without a sample */
    uint64_t stackless;           /* samples whose stack could not be remembered */
    unsigned threads, uncovered;  /* live ones with a row; those without a clock */
};
void cpu_about(struct cpu_about *about);
/* Before samples are read: adds time that is known without a sample. */
void cpu_settle(void);
/* All of it into a recorder file that was made just now. */
void cpu_copy(void);
/* CPU time of a thread while it was profiled, by its own clock. */
uint64_t cpu_used_ns(const struct task *task);

/* In the thread that forks, around it: no clock interrupts what could not be finished then. */
void cpu_fork_prepare(void);
void cpu_fork_parent(void);
/* In the child: what the parent sampled is forgotten; then a profile of its own goes on. */
void cpu_forked(uint32_t parent_id);
void cpu_fork_child(void);
/* A seccomp filter is about to forbid what this needs. `others`: to all threads, and they may be
 * interrupted. */
void cpu_withdraw(bool others);

#endif
