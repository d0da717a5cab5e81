/* SPDX-License-Identifier: MIT */
/* Words for what the compiler should know, so that the code around them stays C. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, cold))
/* A variable of ours that other files use: reached without the table of global offsets. */
#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))
/* Reads what another thread may be changing; whoever calls it looks again afterwards. */
#define RACY __attribute__((no_sanitize("thread")))
/* Reads the stacks of others, and of callers: nothing there is what a sanitizer takes it for. */
#define FOREIGN __attribute__((no_sanitize("thread"), no_sanitize("address")))
/* A large table of which a process may use little: such are laid side by side behind all other
 * variables, so that those share few pages. */
#define BULK __attribute__((section(".bss.bulk")))
/* The one of them that every process begins to use: it starts on the last page of the others. */
#define BULK_FIRST      __attribute__((section(".bss.begun")))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Relaxed atomics: for data that other threads may look at while one writes it. On both machines
 * they compile to plain loads and stores. */
#define load_relaxed(where)         __atomic_load_n((where), __ATOMIC_RELAXED)
#define store_relaxed(where, value) __atomic_store_n((where), (value), __ATOMIC_RELAXED)
/* *where += value, where there is one writer at a time. */
#define add_relaxed(where, value)   store_relaxed((where), *(where) + (value))
#define load_acquire(where)         __atomic_load_n((where), __ATOMIC_ACQUIRE)
#define store_release(where, value) __atomic_store_n((where), (value), __ATOMIC_RELEASE)

#endif
