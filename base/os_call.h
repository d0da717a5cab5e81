/* SPDX-License-Identifier: MIT */
/* What the files of base/os.h share: plain calls of the kernel. */
#ifndef BASE_OS_CALL_H
#define BASE_OS_CALL_H

#include <stdbool.h>

#include "base/arch.h"
#include "base/compiler.h"

INLINE long call3(long number, long a, long b, long c)
{
    return arch_syscall(number, a, b, c, 0, 0, 0);
}

/* Whether what a call returned is an error, as a number below zero. */
INLINE bool failed(long result)
{
    return result < 0 && result > -4096;
}

#endif
