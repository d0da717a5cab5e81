/* SPDX-License-Identifier: MIT */
/*
 * memoir's own file, a capture: what the library writes and the tool reads. docs/FORMATS.md
 * describes every byte; this is the part that both sides must agree on.
 *
 * A capture is a head and then records, each with a checksum, only ever appended to: if the program
 * is killed, all records but the last are whole, and a reader stops there.
 */
#ifndef FILE_CAPTURE_FORMAT_H
#define FILE_CAPTURE_FORMAT_H

#include <stdint.h>

enum {
    FORMAT_VERSION = 1,
    FORMAT_HEAD_SIZE = 16,     /* magic 8, version 2, machine 2, 0 4 */
    FORMAT_RECORD_HEAD = 12,   /* type 4, length 4, crc 4; then the payload */
    FORMAT_RECORD_MAX = 65536, /* bytes of a payload */
    FORMAT_LIVES = 16,
};

static const uint8_t FORMAT_MAGIC[8] = {0x89, 'm', 'e', 'm', 'o', 'i', 'r', '\n'};

enum format_record {
    RECORD_PROCESS = 1,    /* always the first */
    RECORD_MAPS = 2,       /* mappings with build ids */
    RECORD_NODES = 3,      /* of the tree of stacks */
    RECORD_THREADS = 4,    /* */
    RECORD_SERIES = 5,     /* the heap over time */
    RECORD_SNAPSHOT = 6,   /* here begins a snapshot */
    RECORD_ROWS = 7,       /* its sites */
    RECORD_WHOLE = 8,      /* here it ends */
    RECORD_TOTALS = 9,     /* sums over all sites */
    RECORD_ALLOCATOR = 10, /* the allocator's own numbers */
    RECORD_MARK = 11,      /* a moment with a name */
    RECORD_END = 12,       /* the capture is complete */
    RECORD_CLASSES = 13,   /* the allocator's counters by class */
    RECORD_CPU = 14,       /* samples of a clock: what is known of all */
    RECORD_CPU_THREADS = 15,
    RECORD_CPU_ROWS = 16,      /* and by stack and thread */
    RECORD_CPU_COURSES = 17,   /* and when each thread ran */
    RECORD_LEAKS = 20,         /* a scan for lost blocks: its sums */
    RECORD_LEAK_ROWS = 21,     /* and what was lost, by site */
    RECORD_LEAK_LOOKS = 22,    /* what lost blocks look like, */
    RECORD_LEAK_AGES = 23,     /* and how old reachable ones are, both by site */
    RECORD_PINS = 24,          /* what keeps memory in use: as a whole, */
    RECORD_PIN_CLASSES = 25,   /* by size, before it, */
    RECORD_PIN_ROWS = 26,      /* and by site */
    RECORD_LOCKS = 28,         /* waits for locks: what is known of all, */
    RECORD_LOCK_ROWS = 29,     /* and by stack, thread, kind and holder */
    RECORD_THREAD_COUNTS = 30, /* what threads have allocated, by their heaps' counters */
};

enum {
    MAP_READABLE = 1,
    MAP_WRITABLE = 2,
    MAP_EXECUTABLE = 4,
    MAP_SHARED_BIT = 8,
    MAP_GONE = 16, /* an object that was there and was unloaded */
};
enum { MAPS_FIRST = 1 };
enum { THREAD_ALIVE = 1 };
enum { CPU_RUNNING = 1 };
/* What was waited for: the two in the middle are of rwlocks. */
enum wait_kind { WAIT_MUTEX = 1, WAIT_READ, WAIT_WRITE, WAIT_CONDITION };
enum { TOTALS_COVERED = 1 };
/* Which parts of a row follow. */
enum { ROW_LIVE = 1, ROW_PEAK = 2, ROW_MOVED = 4, ROW_LIVES = 8, ROW_WEIGHT = 16, ROW_AGAIN = 32 };

static inline void format_put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t format_get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Small numbers of either sign become small numbers: 0, -1, 1, -2, ... */
static inline uint64_t format_fold(int64_t value)
{
    return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

static inline int64_t format_unfold(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif
