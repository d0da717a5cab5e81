/* SPDX-License-Identifier: MIT */
/*
 * The threads that have recorded a block. Each has a *row*, known by a small number that goes to
 * another thread when the first has ended and none of its blocks is live any more: what was counted
 * for it then counts for all ended threads, THREAD_OTHER. The row tells the thread's id, which is
 * never used again: 0 for the first, as in jemalloc's dumps.
 */
#ifndef HEAP_THREADS_H
#define HEAP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_NAME_SIZE = 16, THREAD_OTHER = UINT32_MAX };

struct thread_row {
    uint32_t id, tid;
    bool alive;                  /* else its blocks are */
    uint64_t since_ms;           /* os_now_ms() of its first recorded block */
    char name[THREAD_NAME_SIZE]; /* given by the program, else the kernel's; may be empty */
};

/* The number of the calling thread's row, made at the first call; THREAD_OTHER without memory. */
uint32_t threads_self(void);
/* The id of its thread; UINT32_MAX for THREAD_OTHER. */
uint32_t threads_id(uint32_t number);
/* What the calling thread keeps (recorder.h), or NULL. If the thread exits without running its
 * destructors, `totals_inherit` gets it. */
struct recorder;
void threads_keep(struct recorder *recorder);
/* The calling thread ends. Its name is kept after `threads_keep_names`. */
void threads_end(void);
/* From now on names of ended threads are kept. Before, the kernel is not asked for them: a seccomp
 * filter of the program may forbid that system call. */
void threads_keep_names(void);
/* False where there is no thread now. Asks the kernel for the names of live threads. */
bool threads_row(uint32_t number, struct thread_row *row);
/* A name of the program's own for the calling thread, cut to fit; "" goes back to the kernel's. */
void threads_set_name(const char *name);
const char *threads_name(void);
/* Numbers below it may have a row. */
uint32_t threads_count(void);
/* Where the first site of the thread is kept (sites.h). */
uint32_t *threads_sites(uint32_t number);
/* In a forked child. */
void threads_recover(uint32_t parent_id);
/* What a call left that a signal handler jumped out of (track_abandoned). */
void threads_abandoned(void);

#endif
