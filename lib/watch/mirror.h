/* SPDX-License-Identifier: MIT */
/*
 * The recorder file of this process (base/file/recorder_format.h), mapped: a second copy of what
 * the tables hold, which outlives the process. The tables themselves stay private memory, so that a
 * forked child has its own; each event that changes them is counted here once more, with stores to
 * memory and nothing else. Off unless lib/dump/recorder_file.c has made a file.
 *
 * A child of a fork has no file until its own is made: `mirror_on` is false there from its first
 * call on, since the word that tells it is a child is looked at each time.
 */
#ifndef WATCH_MIRROR_H
#define WATCH_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/file/recorder_format.h"
#include "lib/alloc/alloc.h"

extern HIDDEN char *mirror_base;  /* NULL: there is no file */
extern HIDDEN bool mirror_wanted; /* there is one, or a forked child needs one when it records, */
extern HIDDEN uint64_t mirror_due_ms; /* but not before this time (os_now_ms), */
extern HIDDEN uint64_t mirror_missed; /* or this many bytes that it recorded without one; */
extern HIDDEN bool mirror_child;      /* or when it sleeps, while this is true */

/* The file is to be made, or to be told of new code, by the next that runs triggers. */
extern HIDDEN bool mirror_asked;

INLINE bool mirror_on(void)
{
    return unlikely(load_acquire(&mirror_base) != NULL) && likely(!alloc_forked());
}

/* With `mirror_on`. */
INLINE struct recorder_head *mirror_head(void)
{
    return (struct recorder_head *)load_relaxed(&mirror_base);
}

enum { MIRROR_SHEETS = 4096 };                                    /* of one kind */
extern HIDDEN uint16_t mirror_sheets[SHEET_KINDS][MIRROR_SHEETS]; /* 0: not there */

/* With `mirror_on`: row `number`, or NULL where the file has no memory for it. */
INLINE void *mirror_row(enum sheet_kind kind, uint32_t number)
{
    uint32_t at = number / (uint32_t)RECORDER_ROWS(kind);
    uint32_t sheet = at < MIRROR_SHEETS ? load_acquire(&mirror_sheets[kind][at]) : 0;
    if (unlikely(sheet == 0))
        return NULL;
    return load_relaxed(&mirror_base) + (size_t)sheet * RECORDER_SHEET +
           (size_t)(number % (uint32_t)RECORDER_ROWS(kind)) * RECORDER_ROW_BYTES(kind);
}

/* The addresses that the file is mapped at; both 0: there is none. */
void mirror_range(uintptr_t *start, uintptr_t *end);

/* A row as above; memory is added if need be. NULL when the file can't grow. */
void *mirror_row_make(enum sheet_kind kind, uint32_t number);
/* The same in a signal handler: waits for no other thread, and finds no memory then. */
void *mirror_row_try(enum sheet_kind kind, uint32_t number);
/* Appends to the log. False if there is no room for all of it: then nothing is. One caller at a
 * time, after `mirror_open`. */
bool mirror_log(const void *bytes, size_t length);

/*
 * What code the log of the file knows the mappings of. A node with an address elsewhere makes
 * `mirror_code_new` true: something was loaded or made meanwhile, whichever way.
 */
extern HIDDEN bool mirror_code_new;
void mirror_code_begin(void);
void mirror_code_add(uintptr_t start, uintptr_t end);
/* The ranges since `mirror_code_begin` count from now on. */
void mirror_code_end(void);
bool mirror_code_has(uintptr_t pc);

/* Takes an empty file that is `max` bytes long at most and makes it the process's: 0 or an errno
 * value. `again` opens it once more, should the program close it; a negative number: it can't.
 * `quiet`: nothing is said when it is full. The descriptors stay the caller's. */
int mirror_open(int fd, int (*again)(void), uint64_t max, bool quiet);
/* Addresses that the file may not have any more, since the program lowered its limit, are given
 * back; false: there are none. */
bool mirror_yield(void);
/* The head of that file. */
struct recorder_head *mirror_opened(void);
/* Every event is counted there from now on, by all threads. */
void mirror_show(void);
/* There is no file any more: in a forked child, or when there is an error between `mirror_open` and
 * `mirror_show`; later other threads use it. */
void mirror_forget(void);
/* What a call left that a signal handler jumped out of. */
void mirror_abandoned(void);

#endif
