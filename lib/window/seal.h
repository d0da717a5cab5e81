/* SPDX-License-Identifier: MIT */
/*
 * Which units of the window can't be touched because mprotect said so, and how many ranges they
 * form: each takes two mappings of the process's, whose number is limited (vm.max_map_count).
 *
 * A unit has two bits: whether it is sealed, and whether the unit before it differs from it. The
 * first is written only for units that the calling thread has to itself. The second is flipped by
 * either neighbour, and the flip itself tells whether it came or went: the count is right without a
 * lock.
 */
#ifndef WINDOW_SEAL_H
#define WINDOW_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for notes about these units. False when memory is out. */
bool seal_prepare(uint32_t first, uint32_t units);
/* Notes that they are sealed, for which `seal_prepare` made room, or no longer. */
void seal_note(uint32_t first, uint32_t units, bool sealed);
/* Whether any of them is. */
bool seal_any(uint32_t first, uint32_t units);
/* How many ranges there are. */
uint64_t seal_ranges(void);

#endif
