/* SPDX-License-Identifier: MIT */
/*
 * Which pages of a part of memory hold something. A page that was never written to holds no
 * pointer, and reading it would make the kernel provide it: a program may have reserved far more
 * than it uses, and a large block may be mostly untouched.
 *
 * Linux 6.7 answers by a system call that passes over holes of any size; before that a file has a
 * word for each page, which takes 0.2 s for 100 GiB.
 */
#ifndef LEAK_TOUCHED_H
#define LEAK_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct touched {
    int file;    /* /proc/self/pagemap; -1: nothing is known */
    bool quick;  /* the system call is there, */
    bool guards; /* and knows pages that MADV_GUARD_INSTALL has closed */
};

enum touched_kind {
    TOUCHED_PRIVATE, /* that the process has written to; not those of files and of shared memory */
    TOUCHED_ALL,
    TOUCHED_WRITTEN, /* for `touched_written` */
};

typedef void touched_visitor(void *context, uintptr_t start, uintptr_t end);

void touched_open(struct touched *touched);
void touched_close(struct touched *touched);
/* Calls `visit` for the parts of [start, end) that hold something; for all of it where nothing is
 * known. */
void touched_each(const struct touched *touched, uintptr_t start, uintptr_t end,
                  enum touched_kind kind, touched_visitor *visit, void *context);
/* The same for pages that were written to since a userfaultfd protected them (written.h). False if
 * the kernel does not tell. */
bool touched_written(const struct touched *touched, uintptr_t start, uintptr_t end,
                     touched_visitor *visit, void *context);
/* Bytes of [start, start + size) that the process has written to, in whole pages; 0 where nothing
 * is known. */
uint64_t touched_bytes(const struct touched *touched, const void *start, size_t size);
/* The same for memory shared with other processes: of its pages, those mapped here. */
uint64_t touched_present(const struct touched *touched, const void *start, size_t size);
/* Bytes that this process shares with no other; 0 if the kernel does not tell. */
uint64_t touched_alone(void);

#endif
