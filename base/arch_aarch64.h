/* SPDX-License-Identifier: MIT */
/* What aarch64 does its own way: entering the kernel, telling the core that we are spinning, and
 * how threads and signal handlers begin and end. */
#ifndef BASE_ARCH_AARCH64_H
#define BASE_ARCH_AARCH64_H

#define ARCH_JUMP "b" /* to a function, in assembler */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of relocation that hold the address of a function of another object. */
enum { ARCH_RELOCATION_DATA = 1025, ARCH_RELOCATION_SLOT = 1026 };

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

static inline void arch_pause(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* *word -= by; true if that made it negative. */
static inline bool arch_count_down(int32_t *word, int32_t by)
{
    return (*word -= by) < 0;
}

static inline void *arch_thread_pointer(void)
{
    void *pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer;
}

/* What compiled code expects at the pointer of a new thread: nothing. */
static inline void arch_thread_describe(void *pointer)
{
    (void)pointer;
}

/* A new thread that calls run(argument), which must not return. Its id or a negative errno. */
static inline long arch_clone(unsigned long flags, void *stack, void *pointer, void (*run)(void *),
                              void *argument)
{
    register long x8 __asm__("x8") = 220; /* clone */
    register long x0 __asm__("x0") = (long)flags;
    register long x1 __asm__("x1") = (long)stack;
    register long x2 __asm__("x2") = 0;
    register long x3 __asm__("x3") = (long)pointer;
    register long x4 __asm__("x4") = 0;
    register long x9 __asm__("x9") = (long)run;
    register long x10 __asm__("x10") = (long)argument;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x10\n\t"
                     "blr x9\n\t"
                     "brk 1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), "r"(x10)
                     : "memory", "cc");
    return x0;
}

/* Unmaps the memory that the calling thread stands on and ends it. */
_Noreturn static inline void arch_leave(void *map, size_t size)
{
    register long x8 __asm__("x8") = 215; /* munmap */
    register long x0 __asm__("x0") = (long)map;
    register long x1 __asm__("x1") = (long)size;
    __asm__ volatile("svc 0\n\t"
                     "mov x0, xzr\n\t"
                     "mov x8, #93\n\t" /* exit */
                     "svc 0\n\t"
                     "brk 1"
                     : "+r"(x0), "+r"(x8)
                     : "r"(x1)
                     : "memory");
    __builtin_unreachable();
}

/* The kernel has a place of its own that signal handlers return to. */
static void (*const arch_restorer)(void) __attribute__((unused)) = NULL;

#endif
