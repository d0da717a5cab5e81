/* SPDX-License-Identifier: MIT */
/*
 * memoir: an allocator that remembers where your memory went.
 *
 * Nothing here is needed to use it: preload or link the library and malloc is memoir's. These
 * calls are for programs that want to ask or steer. All may be called from any thread, none from a
 * signal handler.
 */
#ifndef MEMOIR_MEMOIR_H
#define MEMOIR_MEMOIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "1.2.3" */
const char *memoir_version(void);

/*
 * Options built into a program, in the form of the variable MEMOIR, "key:value,key:value". Define
 * it in the program: const char *memoir_conf = "heap.rate:64K"; The variable overrides it. A
 * preloaded library sees it only in a program that exports it (-rdynamic).
 */
extern const char *memoir_conf;

/* Bytes are those of the blocks, that is, what malloc_usable_size says, not what was asked for. */
struct memoir_totals {
    uint64_t allocs, frees;
    uint64_t alloc_bytes, free_bytes;
};

struct memoir_stats {
    struct memoir_totals total; /* since the start of the process */
    uint64_t live_blocks;       /* in the program's hands */
    uint64_t live_bytes;
    uint64_t cached_bytes;     /* free blocks that threads keep for themselves */
    uint64_t fragmented_bytes; /* free blocks in spans that are in use */
    uint64_t metadata_bytes;   /* memoir's own tables, as far as they are in memory */
    uint64_t mapped_bytes;     /* address space in use */
    uint64_t resident_bytes;   /* of that, in memory */
    uint64_t returned_bytes;   /* given back to the kernel, in all */
    uint64_t heaps;            /* threads that have one */
    uint64_t samples_taken;    /* blocks picked for a record, in all */
    uint64_t samples_live;     /* of those, not yet freed */
    uint64_t dirty_bytes;      /* free pages kept for reuse */
    uint64_t wrong_deletes;    /* with a size or an alignment that was not the block's */
    uint64_t guard_errors;     /* found by the options guard and debug, suppressed ones too */
};

/*
 * Fills in what fits into `size` bytes, so that programs built with an older header keep working:
 * pass sizeof *out. False where the allocator could not start. Exact when no other thread allocates
 * meanwhile. What is in memory is asked of the kernel, which looks at each page: a program that
 * asks often and needs none of that passes offsetof(struct memoir_stats, metadata_bytes).
 */
bool memoir_stats(struct memoir_stats *out, size_t size);
/* What the calling thread has allocated and freed. */
bool memoir_thread_totals(struct memoir_totals *out);
/* All blocks of the class that malloc(size) takes, of all threads. Blocks above 32 KiB have none:
 * false. */
bool memoir_class_totals(size_t size, struct memoir_totals *out);

/* Returns all idle memory to the kernel; how many bytes. Other threads follow at their next call.
 */
size_t memoir_purge(void);

/*
 * The heap profile on, for all threads at once: mean bytes between two sampled blocks, 0 for every
 * block, a negative rate for the last one in force (at first the option heap.rate). Blocks that
 * were allocated while it was off are not in the profile.
 */
void memoir_start(int64_t rate);
/* Off. What was recorded stays, and blocks of it that are freed later are noticed. */
void memoir_stop(void);
/* Mean bytes between two sampled blocks; 0: every block is; -1: none. For all threads at once. */
void memoir_set_rate(int64_t bytes);
int64_t memoir_rate(void);

/*
 * Writes the heap profile to `path`, or for NULL to the next name of the option dump.prefix, in the
 * format of the option dump.format. The file appears under its name when it is complete; a plain
 * file of that name is replaced, a symbolic link or anything else is an error. 0 or an errno value,
 * with a line on standard error that says what to do.
 */
int memoir_dump(const char *path);

/*
 * The CPU profile on, for all threads: samples for each second of a thread's CPU time, 1 to 10,000;
 * 0 for the last rate (at first the option cpu.rate). While it is on, the rate changes. What was
 * sampled before stays. 0 or an errno value. It goes to captures and to `memoir_cpu_dump`, which
 * works as memoir_dump does.
 */
int memoir_cpu_start(unsigned rate);
void memoir_cpu_stop(void);
int memoir_cpu_dump(const char *path);

/*
 * The capture of the run (option capture): a snapshot of the profile now, with the reason in words
 * or NULL; a moment with a name, for time lines. 0 or an errno value, ENOENT where there is no
 * capture.
 */
int memoir_snapshot(const char *words);
int memoir_mark(const char *name);

/*
 * Leaks: blocks that nothing points to any more. All threads stand still for some milliseconds,
 * then a copy of the process looks for pointers in registers, stacks, global and thread-local
 * variables, mappings of the program and all blocks that these lead to.
 */
struct memoir_leak_sum {
    uint64_t blocks, bytes; /* as malloc_usable_size says */
};

struct memoir_leaks {
    struct memoir_leak_sum definite;  /* nothing points there */
    struct memoir_leak_sum indirect;  /* only lost blocks do */
    struct memoir_leak_sum possible;  /* only pointers into the middle of a block do */
    struct memoir_leak_sum reachable; /* in use */
    uint64_t took_us, stood_us;       /* the scan; how long threads stood still for it */
    uint32_t threads;                 /* that were there, */
    uint32_t silent_threads;          /* and those of which the registers could not be read */
    uint64_t own_bytes;               /* that the scan needed for itself */
    uint64_t copied_bytes;            /* of pages that the program wrote to meanwhile */
    uint32_t in_place;                /* 1: no copy could be made, threads stood still all along */
    uint32_t reserved;                /* 0 */
};

/* Lost blocks of one call stack and size, or, where blocks were not recorded, of one size. */
struct memoir_leak {
    struct memoir_leak_sum definite, indirect, possible;
    struct memoir_leak_sum owned; /* indirectly lost blocks that hang on definite ones of these */
    uint64_t requested_bytes;     /* of all of them, as asked for */
    uint64_t cycles;              /* definite blocks that are part of a cycle */
    const void *example;          /* one of the blocks */
    size_t example_bytes;
    void *const *stack; /* return addresses, the caller of malloc first */
    uint32_t frames;    /* 0: not recorded */
};

/*
 * Makes a scan and fills in what fits into `size` bytes; pass sizeof *out. `each`, if not NULL, is
 * called for each row, in no order; what it gets is gone when it returns. With memoir_start(0)
 * every block since then has its stack. False, with a line on standard error, if no scan could be
 * made.
 */
bool memoir_leaks(struct memoir_leaks *out, size_t size,
                  void (*each)(const struct memoir_leak *leak, void *context), void *context);

/* The live block at `block` is no leak, nor is what it leads to; it may be one again. False: no
 * block begins there; it was not ignored. */
bool memoir_leak_ignore(const void *block);
bool memoir_leak_unignore(const void *block);
/* Memory that counts like a global variable, wherever it is; it no longer does. Calls are counted.
 * False: memory is out; there was no such call. */
bool memoir_leak_root(const void *start, size_t size);
bool memoir_leak_unroot(const void *start, size_t size);
/* Recorded blocks that the calling thread allocates from now on are no leaks, until the second call
 * (calls nest). Blocks that were not sampled are not covered: use memoir_start(0). */
void memoir_leak_disable(void);
void memoir_leak_enable(void);

#ifdef __cplusplus
}
#endif

#endif
