/* SPDX-License-Identifier: MIT */
/*
 * Stacks of threads that have ended. glibc keeps them mapped for the next threads, with all the old
 * pointers in them. They are recognized by the thread's descriptor at their end, which begins with
 * a pointer to itself (ARCH_DESCRIPTOR_SELF); no live thread has that address. Elsewhere they count
 * like other memory of the program.
 */
#ifndef LEAK_ENDED_H
#define LEAK_ENDED_H

#include "lib/leak/roots.h"

/* Where the kernel number of a thread lies in its descriptor, found in those of live threads. */
struct ended {
    size_t tid_offset; /* 0: not known */
};

/* `memory`: of os_memory_open. What lies behind a thread pointer may end anywhere. */
void ended_begin(struct ended *ended, const struct roots_thread *threads, unsigned count,
                 int memory);
/* Whether the last bytes of a stack, `tail`, which end at address `end`, hold the descriptor of a
 * thread that is not in `tps` (sorted). *counts: the part of the stack that still does. */
bool ended_stack(const struct ended *ended, const uintptr_t *tail, size_t bytes, uintptr_t end,
                 const uintptr_t *tps, unsigned tps_count, struct scan_range *counts);

#endif
