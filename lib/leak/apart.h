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

#include "lib/leak/scan.h"

/* The program is about to call madvise; if that returns true, it has, or has failed to. */
bool apart_advises(int advice);
void apart_advised(void);

struct apart {
    struct scan_range *ranges; /* where it is, as the kernel told before threads stood still */
    unsigned ranges_count;
    size_t ranges_room;
    uint32_t calls;   /* of madvise that had ended by then */
    bool known;       /* these are all */
    uintptr_t *words; /* of all that memory; NULL: there is none */
    size_t bytes, room;
};

/* Asks where it is. The kernel takes milliseconds for each GiB of the process. */
void apart_look(struct apart *apart);
/* Copies it, while all threads stand still. False if it is too much, memory is out, or the kernel
 * did not tell where all of it is: then a scan can't be made in a copy of the process. */
bool apart_take(struct apart *apart);
void apart_free(struct apart *apart);

#endif
