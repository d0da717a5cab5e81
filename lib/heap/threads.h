/* SPDX-License-Identifier: MIT */
/*
 * The threads that have recorded a block. Each has a *row* with a small number. When a thread has
 * ended and none of its blocks is live, its counts are added to those of all ended threads,
 * THREAD_OTHER, and its row goes to another thread. A row holds the thread's id, which is never
 * reused: 0 for the first thread, as in jemalloc's dumps.
 */
#ifndef HEAP_THREADS_H
#define HEAP_THREADS_H

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_NAME_SIZE = 16, THREAD_OTHER = UINT32_MAX };

struct thread_row {
    uint32_t id, tid;
    bool alive;                  /* false: it has ended, but some of its blocks are live */
    uint64_t since_ms;           /* os_now_ms() of its first recorded block */
    char name[THREAD_NAME_SIZE]; /* set by the program, else the kernel's; may be empty */
};

/* What a thread has allocated, by its heap's counters: exact, whatever was recorded. */
struct thread_counts {
    uint64_t objects, bytes;
};

/* The number of the calling thread's row, made at the first call; THREAD_OTHER if memory is out. */
uint32_t threads_self(void);
/* The id of its thread; UINT32_MAX for THREAD_OTHER. */
uint32_t threads_id(uint32_t number);
/* The recorder that the calling thread keeps (recorder.h), or NULL. If the thread exits without
 * running its destructors, `totals_inherit` gets it. */
struct recorder;
void threads_keep(struct recorder *recorder);
/* The calling thread ends. Its name is kept after `threads_keep_names`. */
void threads_end(void);
/* From now on the names of ended threads are kept. Before this call the kernel is not asked for
 * them: a seccomp filter of the program may forbid that system call. */
void threads_keep_names(void);
/* False if the row has no thread now. Asks the kernel for the names of live threads. */
bool threads_row(uint32_t number, struct thread_row *row);
/* The same of THREAD_OTHER: of ended threads whose rows other threads have. False: not known. */
bool threads_counts(uint32_t number, struct thread_counts *counts);
/* The calling thread has got its heap. */
struct heap;
void threads_has_heap(struct heap *heap);
/* Sets a name for the calling thread, truncated to fit; "": the kernel's name again. */
void threads_set_name(const char *name);
const char *threads_name(void);
/* All numbers of rows are below this one. */
uint32_t threads_count(void);
/* The variable that holds the number of the thread's first site (sites.h). */
uint32_t *threads_sites(uint32_t number);
/* All rows into the recorder file (lib/watch/mirror.h); the name of the calling thread, as it is
 * now. */
void threads_copy(void);
void threads_copy_name(void);
/* In a forked child. The rows of the parent's other threads end: at once if the calling thread is
 * the one that forked (`first`), else when that one calls `threads_claim`. */
void threads_recover(uint32_t parent_id, bool first);
void threads_claim(void);
/* Repairs what a call left behind when a signal handler jumped out of it (track_abandoned). */
void threads_abandoned(void);

#endif
