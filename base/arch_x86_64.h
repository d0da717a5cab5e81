/* SPDX-License-Identifier: MIT */
/* What x86-64 does its own way: entering the kernel, telling the core that we are spinning,
 * reading a clock, and counting in memory with one instruction. */
#ifndef BASE_ARCH_X86_64_H
#define BASE_ARCH_X86_64_H

#define ARCH_JUMP "jmp" /* to a function, in assembler */

#include <stdbool.h>
#include <stdint.h>

/* Kinds of relocation that hold the address of a function of another object. */
enum { ARCH_RELOCATION_DATA = 6, ARCH_RELOCATION_SLOT = 7 };

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline void arch_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

/* A clock of 10 to 50 ns a step that only goes forward; read in a few ns. */
static inline uint64_t arch_ticks(void)
{
    return __builtin_ia32_rdtsc() >> 6;
}

/* *word -= by, in memory; true if that made it negative. */
static inline bool arch_count_down(int32_t *word, int32_t by)
{
    bool negative;
    __asm__("subl %2, %0" : "+m"(*word), "=@ccs"(negative) : "i"(by));
    return negative;
}

#endif
