/* SPDX-License-Identifier: MIT */
/*
 * A hash table of numbers: of things that lie in a list elsewhere, and are known by their bytes.
 *
 * A slot is the number + 1, and above it, in the bits that numbers do not need yet, a part of the
 * thing's hash: what is not it is seldom looked at. Cost: 5 to 11 bytes a thing.
 */
#ifndef PROFILE_FINDER_H
#define PROFILE_FINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINDER_NONE UINT32_MAX

/* The bytes by which a thing is known. */
typedef const void *finder_bytes(const void *context, uint32_t number, size_t *size);

/* All of it zero is the empty one. */
struct finder {
    uint32_t *slots; /* 0: free */
    size_t size, count;
    uint32_t first; /* things are numbered from it on, without a gap; */
    bool sparse;    /* or they are not, which has to be said before the first */
    size_t place;   /* where the last thing that was not found goes, */
    uint64_t hash;  /* and its hash */
};

/* Room for so many, where that is known, before the first. False when memory is out. */
bool finder_start(struct finder *finder, size_t count);
/* The number of the thing with these bytes, or FINDER_NONE: then finder_add gives it one. False
 * when memory is out. */
bool finder_find(struct finder *finder, const void *context, finder_bytes *bytes, const void *data,
                 size_t size, uint32_t *number);
void finder_add(struct finder *finder, uint32_t number);
/* Gives its memory back. The next search makes it again; not of sparse ones. */
void finder_rest(struct finder *finder);
void finder_free(struct finder *finder);

#endif
