/* SPDX-License-Identifier: MIT */
/*
 * A profile into bytes of another tool's format. The format is chosen by the name of the file
 * (write_find) or by its word. Adding one is one new file, its name in WRITERS and its word in
 * WRITER_WORDS.
 */
#ifndef PROFILE_WRITE_WRITE_H
#define PROFILE_WRITE_WRITE_H

#include <stdio.h>

#include "tool/profile/profile.h"

struct write_options {
    unsigned type;              /* the one value, or the first to be seen */
    const struct profile *base; /* for the differential ones; NULL: none */
};

enum write_values {
    WRITES_ALL, /* values of a stack */
    WRITES_ONE, /* options->type */
    WRITES_TWO, /* that one before and after: options->base must be there */
};

struct writer {
    const char *word;   /* "pprof" */
    const char *ending; /* ".pb.gz" */
    const char *brief;
    enum write_values values;
    /* False when memory is out. Whether the bytes reached the file, the caller asks the file. */
    bool (*write)(const struct profile *profile, const struct write_options *options, FILE *file);
    bool mute;   /* its files can't say that numbers are estimates */
    bool binary; /* not for terminals */
    bool packed; /* by itself, whatever the ending */
};

extern const struct writer *const writers[];
extern const size_t writers_count;

/* By the longest ending that fits, or by the word. NULL: none. */
const struct writer *write_find(const char *path_or_word);

/* The writers, in the files write_*.c. */
#define WRITERS(X) \
    X(pprof)       \
    X(folded)      \
    X(difffolded)  \
    X(callgrind)   \
    X(speedscope)  \
    X(firefox)     \
    X(perfetto)    \
    X(trace)       \
    X(pftrace)     \
    X(dhat)        \
    X(massif)      \
    X(heaptrack)   \
    X(gperftools)  \
    X(symbolized)  \
    X(contention)  \
    X(csv)
/* Their words, for --format: those that are not chosen by their ending alone. */
#define WRITER_WORDS                                                              \
    "pprof|folded|difffolded|callgrind|speedscope|firefox|perfetto|pftrace|dhat|" \
    "massif|heaptrack|gperftools|symbolized|contention|csv"
#define X(name) extern const struct writer writer_##name;
WRITERS(X)
#undef X

#endif
