/* SPDX-License-Identifier: MIT */
/*
 * What the program's open files say about a scan: whether a copy of the process can be made while
 * its threads stand still, and pointers that the kernel keeps for the program. A server may know a
 * connection by nothing but the word that it gave epoll, and a timer's owner by the value that the
 * timer sends. A copy has none of the files, so the words are read before, while all threads stand
 * still; they then count as roots.
 */
#ifndef LEAK_DESCRIPTORS_H
#define LEAK_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DESCRIPTORS_POLLS = 256 }; /* epoll descriptors that are read */

struct descriptors {
    /* Making a copy would wait for a thread of the program's, which stands still: the kernel
     * announces forks to readers of a userfaultfd that asked for that. */
    bool announce_forks;
    unsigned polls[DESCRIPTORS_POLLS], polls_count;
    uintptr_t *words; /* of epoll and of timers; NULL: there are none */
    size_t bytes, room;
};

/* Before threads stand still: which files there are. */
void descriptors_look(struct descriptors *found);
/* While they stand still: what is known to the kernel alone. */
void descriptors_take(struct descriptors *found);
void descriptors_free(struct descriptors *found);

#endif
