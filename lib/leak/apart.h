/* SPDX-License-Identifier: MIT */
/*
 * Memory that forked children do not get, or get empty: the program has said so by madvise
 * (MADV_DONTFORK, MADV_WIPEONFORK). A copy of the process does not see it either, so what it holds
 * is copied before, while all threads stand still; of the program's blocks, too, whose words then
 * count as roots.
 */
#ifndef LEAK_APART_H
#define LEAK_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program called madvise, with success. Notes what it asked for, and what it takes back. */
void apart_advised(const void *start, size_t size, int advice);

struct apart {
    uintptr_t *words; /* of all that memory; NULL: there is none */
    size_t bytes, room;
};

/* Copies it. False if it is too much, or memory is out: then no copy of the process can tell. */
bool apart_take(struct apart *apart);
void apart_free(struct apart *apart);

#endif
