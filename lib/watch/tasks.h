/* SPDX-License-Identifier: MIT */
/*
 * The threads of the process as the kernel knows them, whether or not they ever allocate: those
 * that exist (/proc/self/task), those that begin (lib/api/thread_start.c tells), and those that an
 * interrupt finds. Each has a row, known by a number from 1 on, while a profile is made.
 *
 * All of this may run in a signal handler, but for the calls that say otherwise.
 */
#ifndef WATCH_TASKS_H
#define WATCH_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/os_timer.h"
#include "lib/watch/own_stack.h"

enum { TASK_NONE = 0, TASK_NAME_SIZE = 16, TASK_COURSE = 64 };

enum task_state {
    TASK_FREE,
    TASK_LIVES,
    TASK_ENDED, /* and something is still counted for it */
};

struct task {
    uint32_t state;
    uint32_t tid;
    uint32_t id;        /* never used again; 0 only for a row that was never used */
    uint32_t rows;      /* lib/cpu: the last of what is counted for it; stays with the number */
    uint64_t since_ms;  /* os_now_ms() when it was first seen, */
    uint64_t until_ms;  /* and when it ended */
    bool shares_memory; /* its thread-local memory is another thread's (raw clone) */
    bool deaf;          /* it blocks our signal: its clocks send libc's (lib/cpu/deaf.h) */
    uint64_t forking;   /* lib/cpu: signals of ours that it blocks until its fork is done */
    char name[TASK_NAME_SIZE]; /* of one that has ended */
    /* Written by the thread itself, in handlers. */
    struct own_stack own;
    uint64_t samples, sampled_ns, lost;
    /* Its clock (lib/cpu/clocks.h). */
    int32_t timer;      /* -1: none */
    uint32_t bonus;     /* expirations that it stands in for */
    uint64_t period_ns; /* of the timer */
    uint64_t from_ns;   /* what its CPU clock showed when the timer was set */
    uint64_t used_ns;   /* CPU time while it was profiled, up to from_ns */
    uint64_t told_ns;   /* of it: what expirations since from_ns stand for */
    uint64_t first_ns;  /* the first of them, after from_ns; UINT64_MAX: it stands for others */
    /* A second clock, where the kernel gives one (lib/cpu/events.h). */
    uintptr_t event;
    bool event_user;             /* it rings in user mode only */
    bool event_leads;            /* it has rung: the timer counts system time only */
    bool event_based;            /* `event_usage` is known */
    struct os_usage event_usage; /* of the thread, when the timer rang last */
    uint64_t event_told_ns;      /* user time that the event's rings stand for since then */
    int64_t event_left_ns;       /* user time before that they should have stood for */
    uint64_t event_owed_ns;      /* system time that no ring has stood for yet */
    /* Where all time counts (lib/cpu/wall.h): at its last look. */
    int32_t wall_timer;                    /* -1: none */
    uint32_t wall_row;                     /* what it did */
    uint32_t wall_slow;                    /* the next look stands for this many periods, */
    uint64_t wall_until_ns, wall_rings_ns; /* which end then; when the timer rings in them */
    uint64_t wall_ns, wall_cpu_ns;
    int64_t wall_left_ns; /* time without a CPU less what is counted for it */
    /* Its waits for locks (lib/cpu/waits.h). */
    uint32_t wait_rows; /* the last of what is counted for it; stays with the number */
    bool holds;         /* others have waited for it, and it is named there */
    bool walking;       /* `wait_own` is in use */
    uint64_t waits;
    struct own_stack wait_own;
    /* When it ran (lib/cpu/course.h). */
    uint32_t course_version, course_shift;
    uint32_t course_us[TASK_COURSE];
};

/* The row of a number that was handed out. */
struct task *tasks_at(uint32_t number);
/* Numbers below it may have a row; the first is 1. */
uint32_t tasks_count(void);

/* The row of a thread, made if it has none (*fresh); TASK_NONE if there is no room. Takes a lock:
 * not in signal handlers. */
uint32_t tasks_join(pid_t tid, bool *fresh);
/* The number of the calling thread, whose id is `tid`; TASK_NONE if it has none, or is not found
 * at once, because many threads have come since. */
uint32_t tasks_self(pid_t tid);
/* The same, however long it takes to find. */
uint32_t tasks_self_search(pid_t tid);
/* Whether it has one, by the id that libc knows: no system call. */
bool tasks_has_self(void);
/* The thread has ended. `kept`: something is counted for it. */
void tasks_end(uint32_t number, bool kept);

/*
 * Asks the kernel for all threads: `joined` is called for each that got a row just now, `ended` for
 * rows whose thread is gone. Done by a short-lived thread of ours, so that no descriptor is opened
 * in the program's table; the caller waits for it, for a second at most. `tasks_scan_start` does
 * not wait, and may be called in a signal handler that blocks all signals.
 */
struct tasks_scan {
    void (*joined)(uint32_t number); /* NULL: only `after` is called */
    void (*ended)(uint32_t number);
    void (*after)(void); /* at the end, if descriptors have no number in the program; NULL: none */
};
void tasks_scan(const struct tasks_scan *calls);
void tasks_scan_start(const struct tasks_scan *calls);
/* Waits for the end of one that is under way, as `tasks_scan` does. */
void tasks_scan_settle(void);

/* Whether /proc counts threads in another namespace than the process does: it is that of a
 * container's host. Opens a file. */
bool tasks_listed_apart(void);
/* What the process calls a thread that /proc/self/task lists so; 0: it is gone. Opens a file. */
pid_t tasks_listed(pid_t listed);

/* What the kernel tells about a thread, in a file of its folder in /proc: the first `size` - 1
 * bytes and a zero. The length; 0: nothing. Opens a file. */
size_t tasks_tell(pid_t tid, const char *file, char *text, size_t size);

/* The signals that a thread blocks, a bit for each; 0: it is gone. Opens a file. */
uint64_t tasks_blocked(pid_t tid);

/* What the kernel calls a thread; `name` stays as it is if it does not say. Opens a file. */
void tasks_name_of(pid_t tid, char name[TASK_NAME_SIZE]);
/* The name of its thread: asks the kernel while that lives. Not in signal handlers. */
void tasks_name(const struct task *task, char name[TASK_NAME_SIZE]);

/* In a forked child: only the calling thread is left, under its number of before if it had one. */
void tasks_forked(uint32_t parent_id);

#endif
