/* SPDX-License-Identifier: MIT */
/*
 * helper: preloaded by walks_agree_with_libunwind.sh. At every $EVERY-th malloc of a thread it
 * walks the stack with our unwinder and with libunwind's, and compares; at the end it appends
 * "WALKS DIFFERENT CUT" to $VERDICT, and shows the first difference on standard error. $PLANT makes
 * it change one frame in a thousand walks, so that the comparison is seen to compare.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/watch/unwind.h"

extern void *__libc_malloc(size_t size);

static __thread struct walk *walk;
static __thread int inside;
static __thread unsigned long calls;
static unsigned long walks, different, cuts, every = 1;
static int plant;
static int (*unw_backtrace)(void **, int);

static void show(void *const *theirs, unsigned count)
{
    for (unsigned i = 0; i < count || i < walk->count; i++) {
        void *our = i < walk->count ? (void *)walk->pcs[walk->count - 1 - i] : NULL;
        void *their = i < count ? theirs[i] : NULL;
        Dl_info info = {0};
        dladdr(their == NULL ? our : their, &info);
        fprintf(stderr, "%3u %p %p %s %s\n", i, our, their, info.dli_fname, info.dli_sname);
    }
}

/* `count` of theirs from our first one on. A stack that is cut has as many as there is room for. */
static int same(void *const *theirs, unsigned count)
{
    if (walk->cut)
        cuts++;
    else if (count != walk->count)
        return 0;
    for (unsigned i = 0; i < count && i < walk->count; i++)
        if ((uintptr_t)theirs[i] != walk->pcs[walk->count - 1 - i])
            return 0;
    return 1;
}

static void compare(const struct caller *from)
{
    void *theirs[WALK_MAX + 16];
    if (walk == NULL) {
        walk = __libc_malloc(sizeof *walk);
        memset(walk, 0, sizeof *walk);
    }
    unsigned count = (unsigned)unw_backtrace(theirs, WALK_MAX + 16), skip = 0;
    while (skip < count && (uintptr_t)theirs[skip] != from->pc)
        skip++;
    unwind(walk, from, WALK_MAX);
    unsigned long number = __atomic_add_fetch(&walks, 1, __ATOMIC_RELAXED);
    if (plant && number % 1000 == 0)
        theirs[skip] = NULL;
    if (!same(theirs + skip, count - skip) &&
        __atomic_add_fetch(&different, 1, __ATOMIC_RELAXED) == 1)
        show(theirs + skip, count - skip);
}

__attribute__((noinline)) void *malloc(size_t size)
{
    struct caller from = CALLER_HERE;
    void *block = __libc_malloc(size);
    if (unw_backtrace != NULL && !inside && calls++ % every == 0) {
        inside = 1;
        compare(&from);
        inside = 0;
    }
    return block;
}

__attribute__((constructor)) static void begin(void)
{
    inside = 1;
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (getenv("EVERY") != NULL)
        every = strtoul(getenv("EVERY"), NULL, 10);
    plant = getenv("PLANT") != NULL;
    inside = 0;
    if (library != NULL)
        *(void **)&unw_backtrace = dlsym(library, "unw_backtrace");
}

__attribute__((destructor)) static void end(void)
{
    char text[100];
    const char *path = getenv("VERDICT");
    inside = 1;
    int fd = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    int length = snprintf(text, sizeof text, "%lu %lu %lu\n", walks, different, cuts);
    if (fd >= 0 && write(fd, text, (size_t)length) != length)
        abort();
}
