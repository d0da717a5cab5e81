/* SPDX-License-Identifier: MIT */
/*
 * The option `thp`: which parts of the window the kernel is asked to back with huge pages.
 *
 * `on` and `off` say the same of every piece. `auto` keeps a heap below 64 MiB on small pages,
 * since one byte in use would keep 2 MiB in memory. Later pieces begin with a part on small pages,
 * the probe. When the next piece is opened some pages of the last probe are looked at: if nearly
 * all hold data, the program touches what it allocates, and the rest of the new piece is advised to
 * be huge. A piece that one block made necessary is left to the kernel's own setting: many a giant
 * table is hardly touched.
 *
 * Invariant of `auto`: no 2 MiB that a hole was returned in are advised. khugepaged would otherwise
 * fill the hole again, as it may by default if one page of the 2 MiB is in use.
 */
#ifndef WINDOW_HUGE_H
#define WINDOW_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of the window was mapped, and `open` bytes are mapped with it. `for_one`: one block
 * needed more than a piece. The caller holds the arena's lock. */
void huge_opened(char *at, size_t bytes, size_t open, bool for_one);
/* Fresh memory has taken the place of what was there: it gets the advice that it had, or the kernel
 * would keep it apart from its neighbours. */
void huge_renewed(void *at, size_t bytes);
/* Before pages of the range go back to the kernel or move to another place. */
void huge_leave(const void *at, size_t bytes);
/* Calls `each` for variables of ours that hold addresses of blocks without owning them. */
void huge_notes(void (*each)(void *context, const void *start, size_t bytes), void *context);

#endif
