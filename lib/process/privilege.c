/* SPDX-License-Identifier: MIT */
/*
 * setuid, setreuid, setresuid and chroot. A worker of a server is forked as root, and soon has
 * another user, or another root folder, with which it could not make a file of its own in the
 * folder of the recording: so the files that it is to have are made before, and before a change of
 * the root folder some for its children. The calls are passed on to libc, which changes the user of
 * all threads. Not in the static archive, for there is no way to libc's functions behind ours.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/dump/dump.h"
#include "lib/process/memory.h"
#include "lib/process/next.h"

#define NEXT(name) ((__typeof__(&name))next(#name))

static void *next(const char *name);

EXPORT int setuid(uid_t user)
{
    return NEXT(setuid)(user);
}

EXPORT int setreuid(uid_t real, uid_t effective)
{
    return NEXT(setreuid)(real, effective);
}

EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    return NEXT(setresuid)(real, effective, saved);
}

EXPORT int chroot(const char *path)
{
    __typeof__(&chroot) change = NEXT(chroot);
    int kept = errno;
    bool made = memory_is_own() && dump_before_root();
    errno = kept;
    int result = change(path);
    kept = errno;
    if (result != 0)
        dump_root_failed(made);
    errno = kept;
    return result;
}

/* The function of libc. These calls are rare: it is looked up each time. */
static void *next(const char *name)
{
    int kept = errno;
    if (memory_is_own())
        dump_before_leaving();
    void *found = next_find(name);
    errno = kept;
    return found;
}
