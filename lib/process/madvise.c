/* SPDX-License-Identifier: MIT */
/*
 * madvise, for one thing that it tells: which memory forked children do not get, and so a scan for
 * lost blocks does not either (lib/leak/apart.h). The call goes to the kernel as it is. Not in the
 * static archive, where libc's own may be needed.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "lib/leak/leak.h"
#include "lib/process/memory.h"

EXPORT int madvise(void *start, size_t size, int advice);

EXPORT int madvise(void *start, size_t size, int advice)
{
    bool counts = memory_is_own() && apart_advises(advice);
    long got = arch_syscall(SYS_madvise, (long)start, (long)size, advice, 0, 0, 0);
    if (counts)
        apart_advised();
    if (got < 0)
        errno = (int)-got;
    return got < 0 ? -1 : 0;
}
