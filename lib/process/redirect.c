/* SPDX-License-Identifier: MIT */
/*
 * dup2 and dup3, for one thing that they tell: which file the program makes its standard error.
 * Messages follow it there (base/message.h), as into the files that test frameworks collect a
 * child's last words in. The calls go to the kernel as they are. Not in the static archive, where
 * libc's own may be needed.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"

EXPORT int dup2(int from, int to);
EXPORT int dup3(int from, int to, int flags);

static int tell(long got, int to);

EXPORT int dup2(int from, int to)
{
    return tell(arch_dup2(from, to), to);
}

EXPORT int dup3(int from, int to, int flags)
{
    return tell(arch_syscall(SYS_dup3, from, to, flags, 0, 0, 0), to);
}

static int tell(long got, int to)
{
    enum { STANDARD_ERROR = 2 };
    if (got < 0) {
        errno = (int)-got;
        return -1;
    }
    if (to == STANDARD_ERROR && !os_shares_memory())
        message_redirected();
    return (int)got;
}
