/* SPDX-License-Identifier: MIT */
/*
 * The threads that have a recorded block, each with a number of its own that is never used again: 0
 * for the first, as in jemalloc's dumps. A row stays when its thread has ended.
 */
#ifndef WATCH_THREADS_H
#define WATCH_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_NAME_SIZE = 16, THREAD_OTHER = UINT32_MAX }; /* OTHER: too many to remember */

struct thread_row {
    uint32_t id, tid;
    bool alive;
    uint64_t since_ms;           /* os_now_ms() of its first recorded block */
    char name[THREAD_NAME_SIZE]; /* given by the program, else the kernel's; may be empty */
};

/* The calling thread's number; one is made at the first call. */
uint32_t threads_self(void);
/* The calling thread ends: its name is kept. */
void threads_end(void);
/* False beyond the last one. Asks the kernel for the names of live threads. */
bool threads_row(uint32_t id, struct thread_row *row);
/* A name of the program's own for the calling thread, cut to fit; "" goes back to the kernel's. */
void threads_set_name(const char *name);
const char *threads_name(void);
uint32_t threads_count(void);
void threads_recover(void);

#endif
