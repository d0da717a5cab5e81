/* SPDX-License-Identifier: MIT */
/*
 * How far reading has come, for another thread that shows it (tool/terminal/progress.c). Readers
 * say where they are, which costs a store; no thread waits for another, and what is seen may be a
 * little old. One file is read at a time.
 */
#ifndef PROFILE_PLACE_H
#define PROFILE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Where the reader is: an address inside of the bytes that place_begin named. */
extern uintptr_t place_now;

static inline void place_at(const void *at)
{
    store_relaxed(&place_now, (uintptr_t)at);
}

/* A phase of reading: "loading", "unpacking", "reading", which is a constant. */
void place_begin(const char *phase, const void *bytes, size_t size);
/* The bytes are looked through several times: what follows is this share, in per cent, of it. */
void place_part(unsigned from, unsigned to);
/* False: it is not known how far. */
bool place_ask(const char **phase, uint64_t *done, uint64_t *all);

#endif
