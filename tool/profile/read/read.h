/* SPDX-License-Identifier: MIT */
/*
 * Bytes into a profile. The format is found by looking at them; gzip and zstd around any format
 * are undone. A torn file is read as far as it is whole (profile->torn and a warning), or refused;
 * a hostile one is refused with the offset and the reason.
 */
#ifndef PROFILE_READ_READ_H
#define PROFILE_READ_READ_H

#include "tool/profile/profile.h"

struct read_options {
    const char *at;     /* of captures: NULL, "peak", "end", a number of a snapshot, or a time */
    const char *thread; /* of jemalloc's dumps: this thread only; NULL: all */
    bool raw;           /* leave sampled numbers as they are in the file */
};

struct read_error {
    uint64_t offset; /* in the (unpacked) bytes */
    bool asked;      /* the file is fine: what was asked for is not in it */
    char reason[400];
};

/* The whole input; `bytes[size]` is readable and 0, for readers of text. */
struct read_input {
    const char *name; /* for messages */
    const char *bytes;
    size_t size;
    struct read_options options;
    bool pages; /* a reader may give back pages that it is done with (pages_release) */
};

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

/* Whether --at may have this value, whatever is in the file: peak, end, the number of a snapshot,
 * or a time, of which *time_ms says how much; else that is UINT64_MAX. */
bool read_is_moment(const char *text, uint64_t *time_ms);

/* For readers: "90s", "1m30s", "1.5h", "250ms". False: it is no such time. */
bool read_time(const char *text, uint64_t *time_ms);
/* For readers: false, and the error is filled in. */
bool read_lacks(struct read_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool read_refuse(struct read_error *error, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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
