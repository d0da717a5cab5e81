/* SPDX-License-Identifier: MIT */
/*
 * setrlimit and prlimit. The addresses that are reserved for guarded blocks count for the kernel's
 * limit of addresses. So where a program lowers that limit, they are given back at once: the next
 * thread or mapping that it asks for would fail. Not in the static archive, which wraps no function
 * of libc.
 *
 * The functions of libc only make the system call, so nothing of libc needs to be called.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/guard/guard.h"
#include "lib/process/memory.h"

_Static_assert(sizeof(struct rlimit) == 2 * sizeof(uint64_t), "as the kernel's of 64 bits");

/* The type of the argument that says which limit is libc's own. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource;
#else
typedef int resource;
#endif

static int set(pid_t process, unsigned which, const void *limit, void *before);

EXPORT int setrlimit(resource which, const struct rlimit *limit)
{
    return set(0, which, limit, NULL);
}

EXPORT int prlimit(pid_t process, resource which, const struct rlimit *limit, struct rlimit *before)
{
    return set(process, which, limit, before);
}

#ifdef __GLIBC__
EXPORT int setrlimit64(resource which, const struct rlimit64 *limit)
{
    return set(0, which, limit, NULL);
}

EXPORT int prlimit64(pid_t process, resource which, const struct rlimit64 *limit,
                     struct rlimit64 *before)
{
    return set(process, which, limit, before);
}
#endif

/* In a signal handler that came upon us inside, the locks may be taken: nothing is given back. */
static int set(pid_t process, unsigned which, const void *limit, void *before)
{
    long result =
        arch_syscall(SYS_prlimit64, process, (long)which, (long)limit, (long)before, 0, 0);
    if (result != 0) {
        errno = (int)-result;
        return -1;
    }
    bool ours = process == 0 || process == os_pid();
    if (limit != NULL && which == RLIMIT_AS && ours && (lock_held & LOCK_RANKS) == 0 &&
        memory_is_own())
        cells_yield_addresses();
    return 0;
}
