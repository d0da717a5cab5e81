/* SPDX-License-Identifier: MIT */
/*
 * Bytes into a profile. The format is found by looking at them; gzip and zstd around any format
 * are undone. A torn file is read as far as it is whole (profile->torn and a warning), or refused;
 * a hostile one is refused with the offset and the reason.
 */
#ifndef PROFILE_READ_READ_H
#define PROFILE_READ_READ_H

#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"

struct reader {
    const char *name; /* "jemalloc heap", for people and for JSON */
    /* Whether it looks like this format, from the first bytes; the first row that says yes wins. */
    bool (*is)(const struct read_input *input);
    bool (*read)(const struct read_input *input, struct profile *profile, struct read_error *error);
    unsigned traits; /* TRAIT_... */
};

/* `profile` is fresh (profile_start). False: it is refused, *error says why. */
bool profile_read(struct profile *profile, const struct read_input *input,
                  struct read_error *error);
bool profile_read_file(struct profile *profile, const char *path,
                       const struct read_options *options, struct read_error *error);

/* The readers, in the files read_*.c. */
#define READERS(X) \
    X(capture)     \
    X(recorder)    \
    X(heaptrack)   \
    X(jemalloc)    \
    X(symbolized)  \
    X(java)        \
    X(contention)  \
    X(count)       \
    X(threadz)     \
    X(heap_text)   \
    X(guard)       \
    X(dhat)        \
    X(speedscope)  \
    X(massif)      \
    X(callgrind)   \
    X(perf_script) \
    X(pprof)       \
    X(cpu)         \
    X(folded)
#define X(name) extern const struct reader reader_##name;
READERS(X)
#undef X

#endif
