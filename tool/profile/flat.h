/* SPDX-License-Identifier: MIT */
/*
 * A profile as other tools' formats want it: inlined functions are frames like others, every frame
 * has a name, and each stack is there once, with the sums of its values. Labels are gone.
 *
 * Stacks are in order, frame by frame from the first on, and frames are numbered in the order of
 * their names: stacks with the same beginning lie side by side, which makes trees easy.
 */
#ifndef PROFILE_FLAT_H
#define PROFILE_FLAT_H

#include "tool/profile/model.h"

struct flat_options {
    bool lines;      /* frames of one function that differ in line are different frames */
    bool leaf_first; /* stacks begin at the leaf, not at the root */
};

struct flat_frame {
    char *name;         /* "parse", "~parse" where that is a guess, or "libz.so.1+0x1f0" */
    const char *file;   /* "" where not known, and without `lines` */
    const char *module; /* the same */
    uint32_t line;      /* 0: not known */
};

struct flat_stack {
    uint64_t first; /* in flat->path */
    uint32_t count;
};

struct flat {
    unsigned types;
    struct flat_frame *frames;
    size_t frames_count;
    uint32_t *path;
    struct flat_stack *stacks;
    int64_t *values; /* stacks_count rows of `types` */
    size_t stacks_count;
};

/* Texts live as long as the profile. False when memory is out. Pair with flat_free, always. */
bool flat_make(struct flat *flat, const struct profile *profile,
               const struct flat_options *options);
void flat_free(struct flat *flat);

static inline int64_t flat_value(const struct flat *flat, size_t stack, unsigned type)
{
    return flat->values[stack * flat->types + type];
}

/* How many frames two stacks have in common from the first on. */
uint32_t flat_common(const struct flat *flat, size_t one, size_t other);

#endif
