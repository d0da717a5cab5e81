/* SPDX-License-Identifier: MIT */
/*
 * With `harden`: blocks of 0 bytes. They have addresses, 16 bytes apart, in pages that can't be
 * touched; a bit each says which live. An address is used again as late as possible.
 */
#ifndef ALLOC_EMPTY_H
#define ALLOC_EMPTY_H

#include <stdbool.h>

/* NULL when there are no addresses left: another block must do. */
void *empty_take(void);
/* Whether p is an address of such blocks, live or not. */
bool empty_owns(const void *p);
/* Whether one lives there. */
bool empty_lives(const void *p);
/* Ends the block. False: it has ended already. */
bool empty_give(void *p);

#endif
