/* SPDX-License-Identifier: MIT */
/*
 * wipe(): for programs that are scanned for lost blocks and whose truth is known. Dead frames and
 * registers that nothing uses any more may hold old pointers, which a scan can't tell from others.
 */
#ifndef TESTS_PROGRAMS_WIPE_H
#define TESTS_PROGRAMS_WIPE_H

#include <string.h>

enum { WIPE_BYTES = 64 << 10 };

__attribute__((noinline)) static void wipe(void)
{
    volatile char dead[WIPE_BYTES];
    memset((void *)dead, 0, sizeof dead);
#if defined(__x86_64__)
    /* The loader saves those of the vector unit on the stack when a function is first called. */
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile("vpxorq %%zmm16, %%zmm16, %%zmm16\n\t"
                         "vpxorq %%zmm17, %%zmm17, %%zmm17\n\t"
                         "vpxorq %%zmm18, %%zmm18, %%zmm18\n\t"
                         "vpxorq %%zmm19, %%zmm19, %%zmm19\n\t"
                         "vpxorq %%zmm20, %%zmm20, %%zmm20\n\t"
                         "vpxorq %%zmm21, %%zmm21, %%zmm21\n\t"
                         "vpxorq %%zmm22, %%zmm22, %%zmm22\n\t"
                         "vpxorq %%zmm23, %%zmm23, %%zmm23\n\t"
                         "vpxorq %%zmm24, %%zmm24, %%zmm24\n\t"
                         "vpxorq %%zmm25, %%zmm25, %%zmm25\n\t"
                         "vpxorq %%zmm26, %%zmm26, %%zmm26\n\t"
                         "vpxorq %%zmm27, %%zmm27, %%zmm27\n\t"
                         "vpxorq %%zmm28, %%zmm28, %%zmm28\n\t"
                         "vpxorq %%zmm29, %%zmm29, %%zmm29\n\t"
                         "vpxorq %%zmm30, %%zmm30, %%zmm30\n\t"
                         "vpxorq %%zmm31, %%zmm31, %%zmm31" ::
                             : "memory");
    __asm__ volatile(
        "xor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%r8, %%r8\n\t"
        "xor %%r9, %%r9\n\txor %%r10, %%r10\n\txor %%r11, %%r11" ::
            : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
#endif
}

#endif
