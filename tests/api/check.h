/* SPDX-License-Identifier: MIT */
/* The whole test harness: CHECK prints what failed and where and goes on, so that one run shows
 * every broken row; `check_result` turns the count into the exit code. Messages leave by write(2)
 * from a buffer on the stack: a broken allocator must still be able to say so. `opaque_size` and
 * `opaque_ptr` hide a value from the compiler, which otherwise knows malloc well enough to refuse
 * the calls these tests are about. Every test includes this file, and those of jemalloc's functions
 * arena.h or stats_text.h. */
#ifndef TESTS_API_CHECK_H
#define TESTS_API_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
#define CHECK_NOTHROW noexcept
#define CHECK_EXTERN  extern "C"
#else
#define CHECK_NOTHROW
#define CHECK_EXTERN extern
#endif
/* A function that the library under test may or may not export: null where it does not. */
#define CHECK_WEAK CHECK_EXTERN __attribute__((weak))

enum { CHECK_FAILURES_SHOWN = 25, CHECK_LINE_MAX = 600, ERRNO_UNTOUCHED = 77 };

static int check_failures;

__attribute__((format(printf, 1, 2), unused)) static void check_say(const char *format, ...)
{
    char line[CHECK_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof line) {
        length = (int)sizeof line - 1;
    }
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) {
        abort();
    }
}

__attribute__((unused)) static int check_true(int held, const char *what, const char *file,
                                              int line)
{
    if (!held) {
        int failed = __atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED);
        if (failed <= CHECK_FAILURES_SHOWN) {
            check_say("%s:%d: does not hold: %s\n", file, line, what);
        }
    }
    return held;
}

__attribute__((unused)) static int check_equal(long long got, long long wanted, const char *what,
                                               const char *file, int line)
{
    if (got != wanted) {
        int failed = __atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED);
        if (failed <= CHECK_FAILURES_SHOWN) {
            check_say("%s:%d: %s is %lld, wanted %lld\n", file, line, what, got, wanted);
        }
    }
    return got == wanted;
}

#define CHECK(condition) check_true(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(got, wanted) \
    check_equal((long long)(got), (long long)(wanted), #got, __FILE__, __LINE__)
/* A CHECK that tells what was in play when it failed. */
#define CHECK_AT(condition, ...)                                           \
    do {                                                                   \
        if (!CHECK(condition) && check_failures <= CHECK_FAILURES_SHOWN) { \
            check_say("    where " __VA_ARGS__);                           \
            check_say("\n");                                               \
        }                                                                  \
    } while (0)

__attribute__((unused)) static int check_result(void)
{
    if (check_failures > 0) {
        check_say("%d checks failed\n", check_failures);
    }
    return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

__attribute__((unused)) static size_t opaque_size(size_t size)
{
    __asm__ volatile("" : "+r"(size));
    return size;
}

__attribute__((unused)) static void *opaque_ptr(void *pointer)
{
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

/* Contents that tell one block from another: byte i of a block filled with `seed`. */
static inline unsigned char pattern_byte(uint64_t seed, size_t i)
{
    return (unsigned char)((seed * 0x9E3779B97F4A7C15u >> 32) + i * 131 + (i >> 8) * 17);
}

__attribute__((unused)) static void pattern_fill(void *block, size_t size, uint64_t seed)
{
    unsigned char *bytes = (unsigned char *)block;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = pattern_byte(seed, i);
    }
}

/* The offset of the first byte that differs, or `size`. */
__attribute__((unused)) static size_t pattern_differs_at(const void *block, size_t size,
                                                         uint64_t seed)
{
    const unsigned char *bytes = (const unsigned char *)block;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != pattern_byte(seed, i)) {
            return i;
        }
    }
    return size;
}

/* The offset of the first byte that is not `value`, or `size`. */
__attribute__((unused)) static size_t first_other_byte(const void *block, size_t size, int value)
{
    const unsigned char *bytes = (const unsigned char *)block;
    if (size == 0 ||
        (bytes[0] == (unsigned char)value && memcmp(bytes, bytes + 1, size - 1) == 0)) {
        return size;
    }
    size_t i = 0;
    while (bytes[i] == (unsigned char)value) {
        i++;
    }
    return i;
}

static inline int is_aligned(const void *pointer, size_t alignment)
{
    return ((uintptr_t)pointer & (alignment - 1)) == 0;
}

#endif
