/* SPDX-License-Identifier: MIT */
/*
 * How far two words are from each other, for messages that name what the user may have meant: an
 * option (base/config.c), a verb, a flag, a file, a function. Allocates nothing, safe in a signal
 * handler.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

enum {
    /* Only this many letters are compared; typing errors are rarely further behind. */
    NEAREST_LENGTH_MAX = 32,
};

/* How many letters must be inserted, removed, replaced or swapped with a neighbour to turn one word
 * into the other. Cost: the product of the lengths. */
size_t nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* The largest distance of a word of this length to the word that was meant: one slip, two in a long
 * word, none in a word of one or two letters. A suggestion that is further away would not help. */
size_t nearest_max(size_t length);

#endif
