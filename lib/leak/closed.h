/* SPDX-License-Identifier: MIT */
/*
 * Parts of the heap that the program has closed by mprotect, such as the page below a coroutine's
 * stack in a block. Blocks are read as they are, so a scan opens them first: in a copy of the
 * process for good, otherwise while all threads stand still.
 */
#ifndef LEAK_CLOSED_H
#define LEAK_CLOSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets in the window: an address would look like a pointer to the block. */
struct closed_part {
    size_t from, bytes;
};

struct closed {
    struct closed_part *parts; /* NULL: there are none */
    size_t count, room;        /* parts, bytes */
};

/* False if not all of them could be opened. */
bool closed_open(struct closed *closed);
/* `again`: closes them. */
void closed_end(struct closed *closed, bool again);
/* In a copy of the process: what else can't be read there, guards of MADV_GUARD_INSTALL and parts
 * that the program has unmapped, is replaced by zeros when a read finds it. */
void closed_read_as_zero(void);

#endif
