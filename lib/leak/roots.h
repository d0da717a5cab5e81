/* SPDX-License-Identifier: MIT */
/*
 * The memory that a program reaches blocks from: its private writable mappings (data segments,
 * stacks, thread-local storage, what it mapped by itself) and the registers of its threads. The
 * allocator's own memory is not among them: its tables know every block.
 *
 * A register of the vector unit keeps what was last copied through it for long, and a pointer that
 * is nowhere else is rarely there: it makes a block possibly lost. It counts for nothing where the
 * thread called a function that waits in the kernel, since no call preserves these registers.
 *
 * Of a stack only what lies above the stack pointer counts, and the red zone below it; not even
 * that in the thread that asks, which stands in a call. Dead frames below hold old pointers. That
 * is so where the thread's descriptor is in the same mapping and an unreadable mapping in front of
 * it shows that it is a stack of libc's: the kernel may have joined others with what lies below. Of
 * the stack of a thread that has ended, which libc keeps for the next one, only the thread's
 * descriptor counts, until the thread is joined (ended.h).
 * Pages that were never written to hold nothing, and are passed over (touched.h). Written pages
 * count also where the program can't read or write now. Of shared memory only the kind without a
 * name counts: other processes use the rest.
 */
#ifndef LEAK_ROOTS_H
#define LEAK_ROOTS_H

#include <sys/types.h>

#include "base/arch.h"
#include "base/file/maps.h"
#include "base/os.h"
#include "lib/leak/scan.h"
#include "lib/leak/touched.h"

enum {
    ROOTS_REGISTERS = 34, /* the 32 of aarch64, and a stack for signal handlers */
    ROOTS_SKIP_MAX = 48,  /* OS_THREADS_MAX stacks and about 20 tables of our own */
};

/* A thread that stands still. */
struct roots_thread {
    pid_t tid;
    uintptr_t sp;
    uintptr_t tp;                         /* where its thread-local memory is; 0: not known */
    uintptr_t pc;                         /* where it was interrupted; 0: not known */
    uintptr_t registers[ROOTS_REGISTERS]; /* and its stack for signal handlers */
    struct scan_range vectors; /* where registers of the vector unit were saved; may be empty */
};

/* The calling thread as it is here: at the entry of a call of ours, so that our own frames below,
 * whose unused parts may hold old pointers, do not count. `here` is all zero. */
INLINE void roots_here(struct roots_thread *here)
{
    arch_registers(here->registers);
    here->sp = here->registers[ARCH_SP];
    here->tp = (uintptr_t)__builtin_thread_pointer();
    here->tid = os_tid();
}

/* Kinds of memory that are no roots. */
struct roots_left_out {
    bool registers;
    bool stacks;  /* of threads, and their thread-local variables */
    bool globals; /* data segments and mappings */
    /* If not 0: thread-local variables count even so, and those of a thread take that much. */
    size_t but_local_bytes;
};

struct roots {
    const struct roots_thread *threads;
    unsigned threads_count;
    bool threads_complete; /* there are no others */
    uintptr_t sp_here;     /* of the thread that asks, if `roots_here` noted it; else 0 */
    /* Memory that is no root, whatever it holds: the scan's own (`roots_skip`). */
    struct scan_range skip[ROOTS_SKIP_MAX];
    unsigned skip_count;
    struct roots_left_out without;
    /* Of the process as it was: a copy has no pages of shared memory before it reads them. */
    const struct touched *touched_before;
    bool mappings; /* also those that are neither of a file, nor a stack or the heap of brk */
};

/* Scans all of it. False if memory or the list of mappings could not be read: then the verdicts are
 * worth nothing. */
bool roots_scan(struct roots *roots, struct scan *scan);
void roots_skip(struct roots *roots, const void *start, size_t size);
/* Whether a mapping may hold pointers of the program's: not if it is a device's, or shared and has
 * a name by which other processes map it. */
bool roots_may_hold(const struct map *map);
/* Parts of memory that may hold vtables, sorted; returns how many, at most `max`. */
unsigned roots_constants(struct scan_range *ranges, unsigned max);

#endif
