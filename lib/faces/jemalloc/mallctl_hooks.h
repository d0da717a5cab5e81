/* SPDX-License-Identifier: MIT */
/*
 * The functions that a program hands to mallctl below experimental.hooks.*, with jemalloc's
 * arguments. Those for every call are in lib/api/hooks.h.
 */
#ifndef JEMALLOC_MALLCTL_HOOKS_H
#define JEMALLOC_MALLCTL_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block was sampled: its stack, leaf first, and its usable size. One is about to be freed. */
typedef void sample_hook(const void *block, size_t size, void **frames, unsigned count,
                         size_t usable);
typedef void sample_free_hook(const void *block, size_t usable);
/* Writes the stack of the caller of malloc, leaf first, and how many frames it has. */
typedef void backtrace_hook(void **frames, unsigned *count, unsigned max);
void backtrace_default(void **frames, unsigned *count, unsigned max);

/* Each time that a thread has allocated, or freed, `interval` bytes more. */
typedef void thread_event_hook(bool allocated, uint64_t allocated_bytes, uint64_t freed_bytes);
struct thread_event {
    thread_event_hook *hook;
    uint64_t interval;
    bool allocated_only;
};
enum { THREAD_EVENTS_MAX = 4 }; /* as many as jemalloc has */

#endif
