/* SPDX-License-Identifier: MIT */
/*
 * A recorder file: what the tables of a process hold, at every moment, in a file that outlives it.
 * The library writes it with plain stores into a shared mapping (lib/watch/mirror.h), so whatever
 * ends the process, nothing has to be written then; the tool makes a capture of it. The bytes are
 * described in docs/FORMATS.md; this is the part that both sides must agree on.
 *
 *      sheet 0     head, and the directory: which sheet holds what
 *      sheet 1..   each of one kind: rows of a fixed size by their numbers, or a part of the log
 *
 * All numbers are little-endian, as both machines have them. A reader may meet any row half made:
 * its key is written last. Numbers that only grow are read in the order frees, then allocations.
 */
#ifndef FILE_RECORDER_FORMAT_H
#define FILE_RECORDER_FORMAT_H

#include <stdint.h>

enum {
    RECORDER_VERSION = 2,
    RECORDER_SHEET = 1 << 16, /* bytes */
    RECORDER_SHEETS = 8192,
    RECORDER_DIRECTORY = 32768, /* where it begins, in sheet 0 */
    RECORDER_MARKS = 96,        /* bins of a heap, at most */
    RECORDER_CLASSES = 64,
    RECORDER_RATES = 256,
    RECORDER_POINTS = 1024,
    RECORDER_NUMBERS = 16,
    RECORDER_MEMORY_AT = 8, /* among these numbers: resident memory of the process */
    RECORDER_MEMORY_COUNT = 4,
    RECORDER_PATH = 4096,
    RECORDER_LIVES = 16,
    RECORDER_TOLD_PATH = 1024,
};

static const uint8_t RECORDER_MAGIC[8] = {0x89, 'm', 'e', 'm', 'r', 'e', 'c', '\n'};

/* What a sheet is for. The directory has an entry for each sheet: the kind, and above 8 bits the
 * sheet's number among those of its kind. 0: not in use. */
enum sheet_kind {
    SHEET_NONE,
    SHEET_NODES,
    SHEET_SITES,
    SHEET_THREADS,
    SHEET_HEAPS,
    SHEET_LOG, /* records as in a capture: PROCESS, MAPS, MARK and RECORDER_SO_FAR */
    SHEET_SERIES,
    SHEET_CPU_ROWS,
    SHEET_CPU_THREADS, /* also of the next */
    SHEET_LOCK_ROWS,
    SHEET_KINDS
};

/* In the log alone: an n, all nodes below it were there before what follows. */
enum { RECORDER_SO_FAR = 256 };

struct recorder_node {
    uint64_t pc; /* 0: none; written last */
    uint32_t caller, unused;
};

struct recorder_sum {
    uint64_t objects, requested, usable;
};

struct recorder_ends {
    struct recorder_sum freed;
    uint32_t lives[RECORDER_LIVES];
};

/* lib/heap/sites.h has the same as struct site. */
struct recorder_site {
    uint64_t key;  /* the stack + 1, and above 32 bits the thread's number; 0: none; written last */
    uint32_t kind; /* 11 bits: the class, from `classes` on a range of large ones; 8 bits: rate */
    uint32_t unused;
    uint32_t era;        /* above 19 bits: the era in which this was counted */
    uint32_t peak_epoch; /* `peak` is what was live at that peak */
    struct recorder_sum allocated;
    struct recorder_ends own, others;
    uint32_t again, moved_out;
    struct recorder_sum peak;
};
enum { RECORDER_CLASS_BITS = 11, RECORDER_ERA_AT = 19 };

enum { RECORDER_THREAD_NONE, RECORDER_THREAD_LIVES, RECORDER_THREAD_ENDED };
struct recorder_thread {
    uint64_t since_ms;
    uint32_t id, tid;
    uint32_t state;
    uint32_t counted; /* 1: it has ended, and the next two are what it has allocated */
    char name[16];
    uint64_t alloc_objects, alloc_bytes;
    uint64_t more;
};

/* What one heap counted. Row 0 is for all that went past the heaps. */
struct recorder_count {
    uint64_t allocs, frees;
};
struct recorder_heap {
    struct recorder_count marks[RECORDER_MARKS];
    struct recorder_count large, large_bytes;
    uint64_t more[4];
};

struct recorder_point {
    uint64_t time_ms, live_bytes, allocated_bytes, allocated_objects, resident_bytes;
};

struct recorder_peak {
    uint64_t time_ms, bytes;
    uint64_t in_sites; /* not 0: the sites know what was live then */
    struct {
        uint64_t blocks, bytes;
    } classes[RECORDER_CLASSES]; /* the last one: large blocks */
};

/* Samples of the CPU profile, for one stack and thread (lib/cpu/samples.c). */
struct recorder_cpu_row {
    uint64_t key; /* the stack + 1, and above 32 bits the thread's number; 0: none; written last */
    uint64_t samples, ns;
    uint64_t samples_mark, ns_mark; /* of these, what was sampled before gperftools' start */
};

/* A thread of it, by its number. */
struct recorder_cpu_thread {
    uint64_t since_ms, until_ms;
    uint32_t tid, state; /* RECORDER_THREAD_NONE ...; written last */
    uint64_t samples, ns;
    char name[16];
};

/* Waits for locks (lib/cpu/waits.c). */
struct recorder_lock_row {
    uint64_t key; /* as in struct recorder_cpu_row */
    uint32_t kind, holder;
    uint64_t count, ns;
};

struct recorder_locks {
    uint64_t first_ms, on_ns, since_ms; /* as in struct recorder_cpu */
    uint64_t lost, stackless;
};

struct recorder_cpu {
    uint64_t first_ms; /* of the first start; 0: none */
    uint64_t on_ns;    /* for how long it was on, up to the last start, */
    uint64_t since_ms; /* which was then; 0: it does not run */
    uint64_t lost, stackless, uncovered;
    uint64_t user_ns, system_ns; /* CPU time of the process while it was on */
    uint32_t rate;
    uint16_t clock, source; /* 1: the wall's; enum recorder_cpu_source */
};

/* What rang for its samples. */
enum recorder_cpu_source { RECORDER_BY_TIMERS, RECORDER_BY_EVENTS, RECORDER_BY_BOTH };
static inline const char *recorder_cpu_source(unsigned source)
{
    return source == RECORDER_BY_EVENTS ? "perf events"
           : source == RECORDER_BY_BOTH ? "perf events for user time, thread timers for the rest"
                                        : "thread timers";
}

/* While counts move from one site to another, both are kept here as they were. */
struct recorder_fold {
    uint32_t from, to; /* 0: none is under way; `to` is written last */
    uint64_t unused;
    struct recorder_site before[2];
};

/* A file that the program was told to write at its end, in a format of others. */
enum { RECORDER_TOLD_MEMOIR, RECORDER_TOLD_JEMALLOC, RECORDER_TOLD_GPERFTOOLS, RECORDER_TOLD_CPU };
enum { RECORDER_TOLD_COUNT = 4 };
/* Its format: as enum format_kind of lib/dump/format.h, plus 1. */
enum {
    RECORDER_FORMAT_NONE,
    RECORDER_FORMAT_CAPTURE,
    RECORDER_FORMAT_PPROF,
    RECORDER_FORMAT_JEMALLOC,
    RECORDER_FORMAT_GPERFTOOLS,
};
enum { RECORDER_TOLD_ACCUM = 1, RECORDER_TOLD_RAW = 2 }; /* jemalloc's prof_accum; not adjusted */
struct recorder_told {
    uint32_t format; /* 0: none; written last */
    uint32_t flags;  /* RECORDER_TOLD_ACCUM ... */
    uint32_t owner;  /* the process that has the plain name; others add their id */
    uint32_t unused;
    uint64_t space;                /* jemalloc's names: the pid namespace; 0: not in them */
    char path[RECORDER_TOLD_PATH]; /* from the root on; what its name begins with, or all of it */
};

enum {
    RECORDER_READY = 1, /* all that was known when the file was made is in it */
    RECORDER_ENDED = 2, /* the program ended in order */
    RECORDER_FULL = 4,  /* something did not fit */
    RECORDER_CHILD = 8, /* of a fork */
    RECORDER_KEPT = 16, /* only for the files of `told` */
};

struct recorder_head {
    uint8_t magic[8];
    uint16_t version, machine;
    uint32_t sheet_bytes;
    uint32_t state; /* RECORDER_READY ... */
    uint32_t pid;
    uint64_t start_ticks; /* of the process, as in /proc/PID/stat; 0: not known */
    uint64_t start_ms, start_wall_ns;
    uint64_t last_ms; /* the last sign of life */
    int64_t rate;     /* in force: 0 all, -1 off */
    uint64_t off_ms, lost, refused;
    uint32_t covered; /* every block since the start was subject to recording */
    uint32_t era, peak_epoch;
    uint32_t peak_now;   /* which of `peaks` */
    uint64_t series_now; /* how many points; above 32 bits: which half of the sheet */
    uint64_t log_length;
    uint32_t class_count, mark_count;
    uint32_t mark_sizes[RECORDER_MARKS]; /* usable bytes; marks below class_count are classes */
    int64_t rates[RECORDER_RATES];
    struct recorder_peak peaks[2];
    uint64_t numbers[RECORDER_NUMBERS]; /* of ALLOCATOR, as of the last point of the series */
    struct recorder_fold fold;
    char capture[RECORDER_PATH]; /* the process's capture; empty: none */
    struct recorder_cpu cpu;
    struct recorder_told told[RECORDER_TOLD_COUNT];
    struct recorder_locks locks;
};

_Static_assert(sizeof(struct recorder_head) <= RECORDER_DIRECTORY, "the head has room");
_Static_assert(sizeof(struct recorder_site) == 256, "as struct site");

/*
 * Paths that the tool may write to for the process are believed only if a second file, .NAME.paths
 * beside the recorder file NAME, has them, too. The process keeps neither a descriptor nor a
 * mapping of that one: a process that gives up rights after its start (a worker that drops root, a
 * sandbox) can write anything into the recorder file, but can't name a file for the tool to write.
 */
struct recorder_paths {
    uint8_t magic[8];
    char capture[RECORDER_PATH];
    char told[RECORDER_TOLD_COUNT][RECORDER_TOLD_PATH];
};
static const uint8_t RECORDER_PATHS_MAGIC[8] = {0x89, 'm', 'e', 'm', 'p', 'a', 't', '\n'};

/* Rows of a kind. */
#define RECORDER_ROW_BYTES(kind)                                        \
    ((kind) == SHEET_NODES         ? sizeof(struct recorder_node)       \
     : (kind) == SHEET_SITES       ? sizeof(struct recorder_site)       \
     : (kind) == SHEET_THREADS     ? sizeof(struct recorder_thread)     \
     : (kind) == SHEET_HEAPS       ? sizeof(struct recorder_heap)       \
     : (kind) == SHEET_SERIES      ? sizeof(struct recorder_point)      \
     : (kind) == SHEET_CPU_ROWS    ? sizeof(struct recorder_cpu_row)    \
     : (kind) == SHEET_CPU_THREADS ? sizeof(struct recorder_cpu_thread) \
     : (kind) == SHEET_LOCK_ROWS   ? sizeof(struct recorder_lock_row)   \
                                   : 1)
/* And how many of them a sheet has. */
#define RECORDER_ROWS(kind) (RECORDER_SHEET / RECORDER_ROW_BYTES(kind))

#endif
