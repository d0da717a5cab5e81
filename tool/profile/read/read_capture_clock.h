/* SPDX-License-Identifier: MIT */
/*
 * The samples of a clock in a capture while it is read: rows of the wanted snapshot are kept and
 * become samples at the end, in columns of their own. A capture of nothing else is a profile of
 * time, without columns of memory.
 */
#ifndef PROFILE_READ_READ_CAPTURE_CLOCK_H
#define PROFILE_READ_READ_CAPTURE_CLOCK_H

#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"

struct clock_thread {
    uint32_t number, tid;
    uint32_t name;   /* string */
    bool named;      /* else its name is made of its number */
    uint32_t labels; /* label set */
};

struct clock_rows {
    bool known, wall;
    struct list threads;    /* struct clock_thread, by number after clock_rows_sort */
    struct list rows;       /* struct capture_cpu_row */
    struct list courses;    /* struct profile_course, whose id is the thread's number */
    unsigned samples, time; /* columns */
    unsigned blocked;       /* threads whose CPU time has hardly a sample, */
    uint64_t blocked_ns;    /* that time, */
    uint32_t blocked_name;  /* and the first one's name */
};

void clock_rows_start(struct clock_rows *clock, struct profile *profile,
                      const struct capture_cpu *cpu);
void clock_rows_thread(struct clock_rows *clock, struct profile *profile,
                       const struct capture_cpu_thread *thread);
void clock_rows_row(struct clock_rows *clock, struct profile *profile,
                    const struct capture_cpu_row *row);
/* RECORD_CPU_COURSES. */
void clock_rows_courses(struct clock_rows *clock, struct profile *profile,
                        const struct capture_part *whole);
/* All threads are there: they can be found. */
void clock_rows_sort(struct clock_rows *clock);
/* All rows are there: makes the columns. False: there is no clock in this capture. */
bool clock_rows_end(struct clock_rows *clock, struct profile *profile);
/* NULL: one of too many. */
struct clock_thread *clock_rows_find(const struct clock_rows *clock, uint32_t number);
void clock_rows_add(const struct clock_rows *clock, struct profile *profile,
                    const struct capture_cpu_row *row, uint32_t stack, uint32_t label_set);
void clock_rows_free(struct clock_rows *clock);

#endif
