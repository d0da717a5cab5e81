/* SPDX-License-Identifier: MIT */
/*
 * How far two words are from each other, for the messages that name what the user may have meant:
 * an option (base/config.c) or a command (tool/main.c). Allocates nothing, safe in a signal
 * handler.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

enum {
    /* Words are compared up to here; what follows is typed by nobody by mistake. */
    NEAREST_LENGTH_MAX = 32,
};

/* How many letters must be inserted, removed, replaced or swapped with a neighbour to turn one word
 * into the other. Cost: the product of the lengths. */
size_t nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* The most that a word of this length may be away from the one that was meant: one slip, two in a
 * long word, none in one of a letter or two. A suggestion that is further away is a riddle. */
size_t nearest_most(size_t length);

#endif
