/* SPDX-License-Identifier: MIT */
/*
 * How large the blocks of a sample are. Most samples have one size, which is their label "bytes".
 * Large blocks of captures have no such label: a sample has all blocks of a range of sizes, of
 * which only the mean is known. Formats without sizes (jemalloc's, gperftools', DHAT) have one
 * sample a stack.
 */
#ifndef PROFILE_BLOCK_SIZE_H
#define PROFILE_BLOCK_SIZE_H

#include "tool/profile/model.h"

struct block_size {
    uint64_t bytes;    /* of one block, or the mean; 0: not known */
    uint64_t min, max; /* the same for one size; else the eighth of a doubling around the mean */
};

struct block_size block_size_of(const struct profile *profile, size_t sample);
/* Whether some sample has its size as a label. */
bool block_size_labels(const struct profile *profile);

#endif
