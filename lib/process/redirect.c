/* SPDX-License-Identifier: MIT */
/*
 * dup2, dup3 and freopen, for one thing that they tell: which file the program makes its standard
 * error. Messages follow it there (base/message.h), as into the files that test frameworks collect
 * a child's last words in. The calls go to the kernel as they are, those of freopen to libc. Not in
 * the static archive, where libc's own may be needed.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/message.h"
#include "lib/process/memory.h"
#include "lib/process/next.h"

#undef freopen64 /* in musl's header another word for the first */

typedef FILE *opener(const char *path, const char *mode, FILE *stream);

EXPORT opener freopen, freopen64;
EXPORT int dup2(int from, int to);
EXPORT int dup3(int from, int to, int flags);

static int tell(long got, int to);
static FILE *reopen(const char *name, const char *path, const char *mode, FILE *stream);

EXPORT int dup2(int from, int to)
{
    return tell(arch_dup2(from, to), to);
}

EXPORT int dup3(int from, int to, int flags)
{
    return tell(arch_syscall(SYS_dup3, from, to, flags, 0, 0, 0), to);
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    return reopen("freopen", path, mode, stream);
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
    return reopen("freopen64", path, mode, stream);
}

/* Looked up each time: such calls are rare. musl knows the first name only. */
static FILE *reopen(const char *name, const char *path, const char *mode, FILE *stream)
{
    opener *next = (opener *)next_find(name);
    if (next == NULL)
        next = (opener *)next_find("freopen");
    FILE *opened = next(path, mode, stream);
    if (opened != NULL && stream == stderr && memory_is_own())
        message_redirected();
    return opened;
}

static int tell(long got, int to)
{
    enum { STANDARD_ERROR = 2 };
    if (got < 0) {
        errno = (int)-got;
        return -1;
    }
    if (to == STANDARD_ERROR && memory_is_own())
        message_redirected();
    return (int)got;
}
