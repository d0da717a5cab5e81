/* SPDX-License-Identifier: MIT */
/* What x86-64 does its own way: entering the kernel, telling the core that we are spinning,
 * counting in memory with one instruction, and how threads and signal handlers begin and end. */
#ifndef BASE_ARCH_X86_64_H
#define BASE_ARCH_X86_64_H

#define ARCH_JUMP "jmp" /* to a function, in assembler */

#include <stdbool.h>
#include <stddef.h>
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

/* *word -= by, in memory; true if that made it negative. */
static inline bool arch_count_down(int32_t *word, int32_t by)
{
    bool negative;
    __asm__("subl %2, %0" : "+m"(*word), "=@ccs"(negative) : "i"(by));
    return negative;
}

static inline void *arch_thread_pointer(void)
{
    void *pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

/* What compiled code expects at the pointer of a new thread: itself, twice, and the guard values of
 * the stack protector and of libc's jump buffers. */
static inline void arch_thread_describe(void *pointer)
{
    enum { SELF = 0, SELF_TOO = 2, GUARD = 5, POINTER_GUARD = 6 };
    void **words = pointer, **here = arch_thread_pointer();
    words[SELF] = pointer;
    words[SELF_TOO] = pointer;
    words[GUARD] = here[GUARD];
    words[POINTER_GUARD] = here[POINTER_GUARD];
}

/* A new thread that calls run(argument), which must not return. Its id or a negative errno. */
static inline long arch_clone(unsigned long flags, void *stack, void *pointer, void (*run)(void *),
                              void *argument)
{
    register long r8 __asm__("r8") = (long)pointer;
    register long r10 __asm__("r10") = 0;
    register long r12 __asm__("r12") = (long)run;
    register long r13 __asm__("r13") = (long)argument;
    long result = 56; /* clone */
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack), "d"(0), "r"(r8), "r"(r10), "r"(r12), "r"(r13)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/* Unmaps the memory that the calling thread stands on and ends it. */
_Noreturn static inline void arch_leave(void *map, size_t size)
{
    __asm__ volatile("syscall\n\t"
                     "xor %%edi, %%edi\n\t"
                     "mov $60, %%eax\n\t" /* exit */
                     "syscall\n\t"
                     "hlt"
                     :
                     : "a"(11L /* munmap */), "D"(map), "S"(size)
                     : "rcx", "r11", "memory");
    __builtin_unreachable();
}

/* Where a signal handler returns to. Debuggers know it by these very instructions. */
__attribute__((naked, unused)) static void arch_restorer(void)
{
    __asm__("movq $15, %rax\n\t" /* rt_sigreturn */
            "syscall");
}

#endif
