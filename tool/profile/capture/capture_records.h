/* SPDX-License-Identifier: MIT */
/*
 * Reads memoir's own files (docs/FORMATS.md): the bytes of a capture become calls, one a thing that
 * was recorded, in the order of the file. Nothing is allocated, nothing is believed: a length or a
 * number that makes no sense ends the reading, and the answer says where and why.
 *
 * A program may have been killed while it wrote: what stands behind the last whole record is left
 * out, and everything before it counts.
 *
 * Texts are pointers into the bytes and have no 0 at their end. Times in ms are those of the
 * kernel's monotonic clock; a process has one of them and the wall's time of the same moment.
 */
#ifndef PROFILE_CAPTURE_CAPTURE_RECORDS_H
#define PROFILE_CAPTURE_CAPTURE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/capture_format.h"

struct capture_text {
    const char *bytes;
    size_t length;
};

struct capture_process {
    unsigned machine; /* as in ELF */
    uint64_t pid, page_size;
    int64_t rate; /* 0: exact; -1: off */
    uint64_t time_ms, wall_ns;
    struct capture_text host, version, program;
    struct capture_text command; /* arguments, each ended by 0; may be cut */
};

struct capture_map {
    uint64_t start, end, offset, device, inode;
    unsigned flags; /* MAP_... */
    struct capture_text path, build_id;
};

struct capture_thread {
    uint32_t number; /* what this snapshot's rows call it; later it may be another thread's */
    uint32_t id, tid;
    bool alive;
    uint64_t since_ms;
    struct capture_text name;
};

struct capture_point {
    uint64_t time_ms, live_bytes, allocated_bytes, allocated_objects, resident_bytes;
};

struct capture_snapshot {
    uint64_t number, time_ms, wall_ns;
    int64_t rate;
    struct capture_text reason;
};

struct capture_sum {
    uint64_t objects, requested, usable;
};

/* What was seen; times `weight` it is the estimate. */
struct capture_row {
    uint32_t stack, thread; /* UINT32_MAX: one that has ended, or one of too many */
    uint64_t size;          /* 0: they differ */
    int64_t rate;
    double weight;
    struct capture_sum allocated, live, peak;
    uint64_t moved_in, moved_out, lives[FORMAT_LIVES];
    uint64_t again; /* of `allocated`: resized in place by realloc, and counted here before */
};

/* Estimates. */
struct capture_totals {
    struct capture_sum live, allocated, peak;
    uint64_t peak_ms, seen_live, seen_allocated, lost, refused;
    bool covered;    /* every block since the start was subject to sampling */
    uint64_t off_ms; /* when sampling was switched off; 0: it is on */
};

/* Blocks and usable bytes, counted one by one. */
struct capture_count {
    uint64_t blocks, bytes;
};

/* All blocks of one size; size 0: all large ones. */
struct capture_class {
    uint64_t size;
    struct capture_count allocated, live, peak;
};

/* Samples of a clock, since profiling first started. */
struct capture_cpu {
    bool running, wall; /* wall: all time, waiting included; else that on a CPU */
    uint64_t rate;      /* samples a second, now */
    struct capture_text source;
    uint64_t start_ms, on_ns; /* when it first started; how long it was on, by the wall */
    uint64_t samples, ns;     /* ns: what they stand for */
    uint64_t lost;            /* expirations without a sample */
    uint64_t refused;         /* samples without a stack */
    uint64_t uncovered;       /* threads without a clock */
    uint64_t user_ns, system_ns;
};

struct capture_cpu_thread {
    uint32_t number, tid;
    bool alive;
    uint64_t first_ms, last_ms;
    uint64_t cpu_ns; /* by its own clock */
    uint64_t ns, samples;
    struct capture_text name;
};

struct capture_cpu_row {
    uint32_t stack, thread; /* UINT32_MAX: one of too many */
    uint64_t samples, ns;
};

/* A scan for lost blocks, and what it did to the program. */
enum {
    CAPTURE_THREADS,
    CAPTURE_SILENT, /* threads whose registers are not known */
    CAPTURE_OWN_BYTES,
    CAPTURE_COPIED_BYTES,
    CAPTURE_IN_PLACE,
    CAPTURE_WATCHED_MS, /* how long writes to pages were watched before it */
    CAPTURE_TOLD
};
struct capture_leaks {
    uint64_t time_ms, took_us, stood_us, root_bytes;
    struct capture_count reachable, possible, indirect, definite;
    unsigned told; /* how many of these were written; the others are 0 */
    uint64_t values[CAPTURE_TOLD];
};

/* What of one stack and thread was lost. */
struct capture_leak {
    uint32_t stack, thread; /* stack 0: the blocks have no record; thread UINT32_MAX: ended ones */
    uint64_t size;          /* of the largest block; of each, where the stack is 0 */
    uint64_t requested_bytes;
    struct capture_count possible, indirect, definite;
    struct capture_count owned; /* indirectly lost blocks that the definite ones lead to */
    uint64_t cycles;            /* definite blocks that lead back to themselves */
    uint64_t address, word;     /* of one block, and its first word */
};

/* The payload of a record that its user takes apart. */
struct capture_part {
    uint32_t type;
    const uint8_t *at, *end;
    uint64_t nodes; /* the number of the next node */
};

struct capture_mark {
    uint64_t time_ms;
    struct capture_text name;
    bool counted; /* an older library did not write the following */
    struct capture_count live, allocated;
};

struct capture_allocator {
    uint64_t allocs, frees, alloc_bytes, free_bytes, live_blocks, live_bytes, cached_bytes,
        fragmented_bytes, dirty_bytes, metadata_bytes, mapped_bytes, resident_bytes, returned_bytes,
        heaps;
    uint64_t process_peak_bytes; /* resident memory of the process at its largest; 0: not known */
    /* And at this moment: anonymous, of files, shared; all 0: not known. */
    uint64_t process_anonymous_bytes, process_file_bytes, process_shared_bytes;
};

/* Each may be NULL. */
struct capture_calls {
    void (*process)(void *context, const struct capture_process *process);
    void (*maps)(void *context); /* a new list begins, which replaces the one before */
    void (*map)(void *context, const struct capture_map *map);
    void (*node)(void *context, uint32_t node, uint32_t caller, uint64_t pc); /* caller < node */
    void (*thread)(void *context, const struct capture_thread *thread);
    void (*point)(void *context, const struct capture_point *point);
    void (*snapshot)(void *context, const struct capture_snapshot *snapshot);
    void (*row)(void *context, const struct capture_row *row); /* of nodes that were there before */
    void (*whole)(void *context, uint64_t rows);               /* the snapshot is complete */
    void (*totals)(void *context, const struct capture_totals *totals);
    void (*allocator)(void *context, const struct capture_allocator *allocator);
    void (*class)(void *context, const struct capture_class *class); /* before the rows */
    void (*cpu)(void *context, const struct capture_cpu *cpu);       /* before the next two */
    void (*cpu_thread)(void *context, const struct capture_cpu_thread *thread);
    void (*cpu_row)(void *context, const struct capture_cpu_row *row);
    void (*leaks)(void *context, const struct capture_leaks *leaks); /* before its rows */
    void (*leak)(void *context, const struct capture_leak *leak);
    /* Records that this reader hands on whole: RECORD_CPU_COURSES, RECORD_LEAK_LOOKS,
     * RECORD_LEAK_AGES, RECORD_LOCKS, RECORD_LOCK_ROWS, RECORD_PINS and its kin,
     * RECORD_THREAD_COUNTS. */
    void (*part)(void *context, const struct capture_part *part);
    void (*mark)(void *context, const struct capture_mark *mark);
    void (*end)(void *context, uint64_t time_ms);
    /* Whether the rows of the present snapshot are to be read; NULL: if there is `row`. */
    bool (*wanted)(void *context);
    bool checked; /* the checksums were found right when these bytes were read before */
};

enum capture_result {
    CAPTURE_WHOLE,   /* up to its last record */
    CAPTURE_TORN,    /* up to `offset`: the program went on, was killed, or the file is damaged */
    CAPTURE_REFUSED, /* no capture, or one that lies */
};

struct capture_error {
    uint64_t offset;
    const char *reason; /* NULL: none */
};

enum capture_result capture_read(const void *bytes, size_t size, const struct capture_calls *calls,
                                 void *context, struct capture_error *error);

#endif
