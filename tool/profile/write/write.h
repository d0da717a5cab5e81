/* SPDX-License-Identifier: MIT */
/*
 * A profile into bytes of another tool's format. The format is chosen by the name of the file
 * (write_find) or by its word. Adding one is one new file and its row in WRITERS.
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

/* The writers, in the files write_*.c: a row each. The name is the word for --format, but for those
 * that are chosen by their ending alone. */
#define WRITERS(FIRST, NEXT, ENDING) \
    FIRST(pprof)                     \
    NEXT(folded)                     \
    NEXT(difffolded)                 \
    NEXT(callgrind)                  \
    NEXT(speedscope)                 \
    NEXT(firefox)                    \
    NEXT(perfetto)                   \
    ENDING(trace)                    \
    NEXT(pftrace)                    \
    NEXT(dhat)                       \
    NEXT(massif)                     \
    NEXT(heaptrack)                  \
    NEXT(gperftools)                 \
    NEXT(symbolized)                 \
    NEXT(contention)                 \
    NEXT(csv)

#define WRITER_WORD(name)      #name
#define WRITER_NEXT_WORD(name) "|" #name
#define WRITER_NO_WORD(name)
#define WRITER_WORDS WRITERS(WRITER_WORD, WRITER_NEXT_WORD, WRITER_NO_WORD)
#define X(name)      extern const struct writer writer_##name;
WRITERS(X, X, X)
#undef X

#endif
