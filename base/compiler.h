/* SPDX-License-Identifier: MIT */
/* Attributes and built-in functions of the compiler by short names. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, cold))
/* A variable of ours that other files use: accessed without the global offset table. */
#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))
/* Thread-local memory is scarce: no gaps for the sake of wide loads. */
#define PACKED_LOCAL __attribute__((aligned(8)))
/* Reads data that another thread may be changing; the caller checks the result afterwards. */
#define RACY __attribute__((no_sanitize("thread")))
/* Reads the stacks of other code: a sanitizer would misjudge that. */
#define FOREIGN __attribute__((no_sanitize("thread"), no_sanitize("address")))
/* A large table of which a process may use little. All such tables are placed together behind the
 * other variables, so that the other variables take few pages. */
#define BULK __attribute__((section(".bss.bulk")))
/* The bulk table that every process uses: it starts on the last page of the ordinary variables. */
#define BULK_FIRST __attribute__((section(".bss.begun")))
/* The same for constants that few programs read: behind those that every program reads. */
#define BULK_CONSTANT __attribute__((section(".rodata.tail")))
/* Makes the compiler take a variable as it is: what it computed from it before counts no more, and
 * what it would compute of it later is computed by now. */
#define SETTLE(variable) __asm__("" : "+r"(variable))
#define COUNT_OF(array)  (sizeof(array) / sizeof((array)[0]))

/* The step of every hash function: the upper bits of the product depend on all of the word. The
 * factor is the golden ratio's, of which no small multiple is near a power of two. */
INLINE uint64_t hash_word(uint64_t word)
{
    return word * UINT64_C(0x9e3779b97f4a7c15);
}

/* Relaxed atomics, for data that other threads may read while one thread writes it. On both
 * machines they compile to plain loads and stores. */
#define load_relaxed(where)         __atomic_load_n((where), __ATOMIC_RELAXED)
#define store_relaxed(where, value) __atomic_store_n((where), (value), __ATOMIC_RELAXED)
/* *where += value, for one writer at a time. */
#define add_relaxed(where, value)   store_relaxed((where), *(where) + (value))
#define load_acquire(where)         __atomic_load_n((where), __ATOMIC_ACQUIRE)
#define store_release(where, value) __atomic_store_n((where), (value), __ATOMIC_RELEASE)

#endif
