/* SPDX-License-Identifier: MIT */
/* What is specific to aarch64: entering the kernel, spinning, reading a clock, the layout of a
 * stack, and how threads and signal handlers begin and end. */
#ifndef BASE_ARCH_AARCH64_H
#define BASE_ARCH_AARCH64_H

#define ARCH_JUMP "b" /* to a function, in assembler */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

/* Registers by their numbers in unwind tables; RETURN is the column of the return address. */
enum { ARCH_FP = 29, ARCH_RETURN = 30, ARCH_SP = 31, ARCH_REGISTERS = 32 };
/* The caller's stack pointer before the call and after the return. clang's __builtin_dwarf_cfa is
 * the frame pointer on this machine. */
#ifdef __clang__
#define ARCH_CALLER_SP() ((uintptr_t)__builtin_sponentry())
#else
#define ARCH_CALLER_SP() ((uintptr_t)__builtin_dwarf_cfa())
#endif
/* A call leaves the return address in a register; the callee saves it where it likes. */
enum { ARCH_PUSHES_RETURN = 0 };
/* The registers that a function preserves for its caller, one bit each: x19 to x29. */
enum { ARCH_KEPT = 0x7ff << 19 };
/* Bits of a user's code address. */
enum { ARCH_PC_BITS = 48 };
/* High bits of a pointer that the machine ignores, so that a program may keep something there. */
enum { ARCH_TAG_BITS = 8 };

/* The kernel's save area of the registers that a signal interrupted, as offsets from the stack
 * pointer with which the handler returns. */
enum {
    ARCH_SIGNAL_X0 = 312,
    ARCH_SIGNAL_FP = ARCH_SIGNAL_X0 + 29 * 8,
    ARCH_SIGNAL_SP = ARCH_SIGNAL_X0 + 31 * 8,
    ARCH_SIGNAL_PC = ARCH_SIGNAL_X0 + 32 * 8,
    ARCH_SIGNAL_CONTEXT = 128, /* and the handler's third argument */
};
static inline uintptr_t arch_signal_slot(unsigned number)
{
    return ARCH_SIGNAL_X0 + number * 8;
}
enum { ARCH_SIGNAL_CODE = 8 };
/* Of the instruction that a SIGSEGV interrupted: 1, it wrote; 0, it read; -1, not known. The kernel
 * puts the syndrome among the records behind the registers. */
static inline int arch_fault_wrote(const void *context)
{
    enum { RECORDS = 464, RECORDS_SIZE = 4096, SYNDROME = 0x45535201, WROTE = 1 << 6 };
    const char *record = (const char *)context + RECORDS, *end = record + RECORDS_SIZE;
    while (record + 16 <= end) {
        const uint32_t *head = (const uint32_t *)record; /* magic, size */
        if (head[0] == SYNDROME)
            return (*(const uint64_t *)(record + 8) & WROTE) != 0;
        if (head[0] == 0 || head[1] < 16)
            break;
        record += head[1];
    }
    return -1;
}

/* The registers of the vector unit in the frame of a handler with that third argument; their
 * bytes. */
static inline size_t arch_signal_vectors(const void *context, const void **start)
{
    enum { RECORDS = 464, RECORDS_SIZE = 4096, VECTORS = 0x46508001, HEAD = 16, BYTES = 512 };
    const char *record = (const char *)context + RECORDS, *end = record + RECORDS_SIZE;
    while (record + HEAD <= end) {
        const uint32_t *head = (const uint32_t *)record; /* magic, size */
        *start = record + HEAD;
        if (head[0] == VECTORS)
            return BYTES;
        if (head[0] == 0 || head[1] < HEAD)
            break;
        record += head[1];
    }
    return 0;
}
/* The kernel's function in the vdso that reads a clock. */
#define ARCH_VDSO_CLOCK "__kernel_clock_gettime"
enum { ARCH_CALL_BYTES = 4 };
/* Whether this is the instruction that enters the kernel. */
static inline bool arch_is_call(const void *code)
{
    static const uint32_t entry = 0xd4000001; /* svc #0 */
    return memcmp(code, &entry, sizeof entry) == 0;
}

/* Whether this is the code that a handler returns to: mov x8, #139; svc #0. */
static inline bool arch_signal_code(const void *code)
{
    static const uint32_t wanted[2] = {0xd2801168, 0xd4000001};
    return memcmp(code, wanted, sizeof wanted) == 0;
}

/* Whether a handler, with that frame, interrupted a system call that now fails with EINTR. */
static inline bool arch_call_interrupted(const char *frame)
{
    static const uint32_t entry = 0xd4000001; /* svc #0 */
    const char *pc = *(const char *const *)(frame + ARCH_SIGNAL_PC);
    return *(const long *)(frame + ARCH_SIGNAL_X0) == -EINTR && memcmp(pc - 4, &entry, 4) == 0;
}

/* The same or that is to begin again. */
static inline bool arch_wait_interrupted(const char *frame, bool (*readable)(const void *, size_t))
{
    static const uint32_t entry = 0xd4000001; /* svc #0 */
    const uint32_t *pc = *(const uint32_t *const *)(frame + ARCH_SIGNAL_PC);
    return readable(pc - 1, 2 * sizeof *pc) && (pc[0] == entry || arch_call_interrupted(frame));
}

/* The number of a call that is to begin again; below 0: the handler interrupted something else. */
static inline long arch_call_again(const char *frame, bool (*readable)(const void *, size_t))
{
    enum { X8 = ARCH_SIGNAL_X0 + 8 * 8 };
    const char *pc = *(const char *const *)(frame + ARCH_SIGNAL_PC);
    return readable(pc, ARCH_CALL_BYTES) && arch_is_call(pc) ? *(const long *)(frame + X8) : -1;
}

/* The register of a call's second argument, for `arch_signal_slot`: x1. */
enum { ARCH_CALL_SECOND = 1 };

/* A call that is to begin again ends instead, with EINTR. */
static inline void arch_call_end(char *frame)
{
    *(uintptr_t *)(frame + ARCH_SIGNAL_PC) += ARCH_CALL_BYTES;
    *(long *)(frame + ARCH_SIGNAL_X0) = -EINTR;
}

/* A return address without pointer authentication, which uses the bits above those of a user
 * address. */
static inline uintptr_t arch_plain(uintptr_t address)
{
    return address & (((uintptr_t)1 << ARCH_PC_BITS) - 1);
}

/* On this machine only the kernel knows the memory node. */
static inline bool arch_node(unsigned *node)
{
    *node = 0;
    return false;
}

static inline uintptr_t arch_thread(void)
{
    uintptr_t self;
    __asm__("mrs %0, tpidr_el0" : "=r"(self));
    return self;
}

/* The preserved registers and the stack pointer, as they are here; the others are not written. */
static inline __attribute__((always_inline)) void arch_registers(uintptr_t values[ARCH_REGISTERS])
{
    __asm__ volatile("stp x19, x20, [%0, #19*8]\n\t"
                     "stp x21, x22, [%0, #21*8]\n\t"
                     "stp x23, x24, [%0, #23*8]\n\t"
                     "stp x25, x26, [%0, #25*8]\n\t"
                     "stp x27, x28, [%0, #27*8]\n\t"
                     "mov x16, sp\n\t"
                     "str x29, [%0, #29*8]\n\t"
                     "adr x17, .\n\t"
                     "stp x17, x16, [%0, #30*8]"
                     :
                     : "r"(values)
                     : "x16", "x17", "memory");
}

/* Kinds of relocation that hold the address of a function of another object. */
enum { ARCH_RELOCATION_DATA = 1025, ARCH_RELOCATION_SLOT = 1026 };

enum { ARCH_MACHINE = 183 };                   /* EM_AARCH64 of <elf.h> */
static const uint32_t ARCH_AUDIT = 0xc00000b7; /* AUDIT_ARCH_AARCH64 of <linux/audit.h> */

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

/* There is no such system call: dup3 refuses two descriptors that are one. */
static inline long arch_dup2(int from, int to)
{
    enum { GET_FLAGS = 1 };
    if (from != to)
        return arch_syscall(SYS_dup3, from, to, 0, 0, 0, 0);
    long got = arch_syscall(SYS_fcntl, from, GET_FLAGS, 0, 0, 0, 0);
    return got < 0 ? got : to;
}

static inline void arch_pause(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* A clock with steps of 10 to 50 ns that never goes back; takes a few ns to read. */
static inline uint64_t arch_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* Before a second use of an address with this index and an offset: no instruction can have such an
 * address here, so the compiler is free to compute it once. */
#define ARCH_INDEXED(index) (void)(index)

/* *word -= by; true if that made it negative. */
static inline bool arch_count_down(int32_t *word, int32_t by)
{
    return (*word -= by) < 0;
}

/* What compiled code expects at the pointer of a new thread: nothing. */
static inline void arch_thread_describe(void *pointer)
{
    (void)pointer;
}

/* Starts a thread that calls run(argument), which must not return. Its id or a negative errno.
 * `id` is where the flags about ids let the kernel write. */
static inline long arch_clone(unsigned long flags, void *stack, void *pointer, int *id,
                              void (*run)(void *), void *argument)
{
    register long x8 __asm__("x8") = 220; /* clone */
    register long x0 __asm__("x0") = (long)flags;
    register long x1 __asm__("x1") = (long)stack;
    register long x2 __asm__("x2") = (long)id;
    register long x3 __asm__("x3") = (long)pointer;
    register long x4 __asm__("x4") = (long)id;
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

/* Unmaps the memory that the calling thread's stack is in, and ends the thread. */
__attribute__((noreturn)) static inline void arch_leave(void *map, size_t size)
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

/* The kernel provides the code that signal handlers return to. */
static void (*const arch_restorer)(void) __attribute__((unused)) = NULL;

/* The thread pointer leads to libc's descriptor of the thread, which begins with a pointer to
 * itself. */
enum { ARCH_DESCRIPTOR_SELF = false };

#endif
