/* SPDX-License-Identifier: MIT */
/*
 * A profile as other tools' formats want it: inlined functions are frames like others, every frame
 * has a name, and each stack is there once, with the sums of its values. Labels are gone.
 *
 * Stacks are in order, frame by frame from the first on, and frames are numbered in the order of
 * name, file, module and line: stacks with the same beginning lie side by side, and so do the
 * frames of a function. Cost: 4 to 8 bytes a sample.
 */
#ifndef PROFILE_WRITE_FLAT_H
#define PROFILE_WRITE_FLAT_H

#include "tool/profile/profile.h"

struct flat_options {
    bool lines;          /* frames of one function that differ in line are different frames */
    bool starts;         /* with `lines`: code without a name is where its function begins */
    bool leaf_first;     /* stacks begin at the leaf, not at the root */
    const int64_t *more; /* another column of values, which becomes the last one; NULL: none. It
                            must stay */
};

struct flat_frame {
    char *name;         /* "parse", "~parse" where that is a guess, or "libz.so.1+0x1f0" */
    const char *file;   /* "" where not known, and without `lines` */
    const char *module; /* the same */
    uint32_t line;      /* 0: not known */
    uint64_t address;   /* one that it has; 0: not known */
};

struct flat_stack {
    const uint32_t *frames;
    uint32_t count;
};

struct flat {
    unsigned types; /* the profile's, and perhaps one more */
    struct flat_frame *frames;
    size_t frames_count;
    uint32_t *first; /* by stack: a chain of the samples that have it, which UINT32_MAX ends */
    uint32_t *next;  /* by sample; NULL: each stack has one */
    size_t stacks_count;
    struct flat_maker *maker; /* what their frames are made with */
};

/* Texts live as long as the profile. False when memory is out. Pair with flat_free, always. */
bool flat_make(struct flat *flat, const struct profile *profile,
               const struct flat_options *options);
void flat_free(struct flat *flat);

/* The frames of a stack are made when they are asked for, and stay until the call after the next
 * one. */
struct flat_stack flat_stack(const struct flat *flat, size_t stack);

int64_t flat_value(const struct flat *flat, size_t stack, unsigned type);

/* Whether two frames are of the same function. */
bool flat_same_function(const struct flat *flat, uint32_t one, uint32_t other);
/* "0x401136: main (src/main.c:10)", as valgrind's tools write it. NULL when memory is out; to be
 * freed. */
char *flat_place(const struct flat_frame *frame);
/* What code without a name is called: "libz.so.1+0x1f0". The address is that of the instruction.
 * NULL when memory is out; to be freed. */
char *flat_unnamed(const struct profile *profile, uint32_t mapping, uint64_t address);
/* How many frames two stacks have in common from the first on. */
uint32_t flat_common(const struct flat *flat, size_t one, size_t other);

#endif
