/* SPDX-License-Identifier: MIT */
/* helper
 * What jemalloc's junk, zero, xmalloc and san_guard_* do, as a program sees it: with jemalloc's own
 * library as with ours.
 *   fill NEW FREED   the bytes of new and of freed blocks; -1: not compared
 *   out CALL         a call that can't be served; says "went on" if it comes back
 *   over SIZE COUNT  writes a page behind each of COUNT blocks */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memoir/compat/jemalloc/jemalloc.h"

static int failures;
#define HOLDS(what) \
    ((what) ? (void)0 : (void)(failures++, printf("line %d: %s\n", __LINE__, #what)))

static int on_new, on_freed;

static bool is(const volatile unsigned char *p, int byte, size_t from, size_t to)
{
    for (size_t i = from; byte >= 0 && i < to; i++)
        if (p[i] != byte) {
            printf("byte %zu of %zu is 0x%x\n", i, to, p[i]);
            return false;
        }
    return true;
}

/* Memory that was in use holds something else, unless it was filled. */
static void dirty(size_t size)
{
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = memset(malloc(size), 0x11, size);
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
}

static void one_size(size_t size)
{
    unsigned char *p;
    dirty(size);
    p = malloc(size);
    HOLDS(is(p, on_new, 0, sallocx(p, 0)));
    memset(p, 0x22, size);
    free(p);
    if (size <= 4096)
        HOLDS(is(p, on_freed, 0, size));
    dirty(size);
    p = calloc(1, size);
    HOLDS(is(p, 0, 0, size));
    free(p);
    dirty(size);
    p = memalign(64, size);
    HOLDS(is(p, on_new, 0, size));
    free(p);
    dirty(size);
    p = mallocx(size, 0);
    HOLDS(is(p, on_new, 0, sallocx(p, 0)));
    dallocx(p, 0);
    dirty(size);
    p = mallocx(size, MALLOCX_ZERO | MALLOCX_ALIGN(64));
    HOLDS(is(p, 0, 0, sallocx(p, 0)));
    sdallocx(p, size, MALLOCX_ALIGN(64));
    dirty(4 * size);
    p = memset(malloc(size), 0x33, size);
    size_t before = sallocx(p, 0);
    memset(p, 0x33, before);
    p = realloc(p, 4 * size);
    HOLDS(is(p, 0x33, 0, before));
    HOLDS(is(p, on_new, before, sallocx(p, 0)));
    before = sallocx(p, 0);
    memset(p, 0x33, before);
    size_t now = xallocx(p, 5 * size, 0, 0);
    HOLDS(is(p, 0x33, 0, before));
    HOLDS(is(p, on_new, before, now));
    memset(p, 0x33, now);
    before = now;
    p = rallocx(p, 8 * size, 0);
    HOLDS(is(p, 0x33, 0, before));
    HOLDS(is(p, on_new, before, sallocx(p, 0)));
    p = realloc(p, size);
    HOLDS(is(p, 0x33, 0, size));
    free(p);
}

static void *in_thread(void *unused)
{
    for (size_t size = 8; size <= 1 << 17; size = size * 5 / 2)
        one_size(size);
    return unused;
}

static void fill(void)
{
    pthread_t thread;
    const char *junk = NULL;
    bool zero = false, built = false;
    size_t length = sizeof junk;
    in_thread(NULL);
    HOLDS(pthread_create(&thread, NULL, in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    HOLDS(mallctl("opt.junk", &junk, &length, NULL, 0) == 0);
    length = sizeof zero;
    HOLDS(mallctl("opt.zero", &zero, &length, NULL, 0) == 0);
    HOLDS(mallctl("config.fill", &built, &length, NULL, 0) == 0 && built);
    const char *wanted = on_new == 0xa5 && on_freed == 0x5a ? "true"
                         : on_new == 0xa5                   ? "alloc"
                         : on_freed == 0x5a                 ? "free"
                                                            : "false";
    HOLDS(zero == (on_new == 0));
    HOLDS(strcmp(junk, wanted) == 0);
    puts(failures == 0 ? "all holds" : "failed");
}

static void out(const char *call)
{
    size_t size = (size_t)1 << 52; /* no address space has as much */
    void *p = malloc(100);
    errno = 0;
    if (strcmp(call, "malloc") == 0)
        p = malloc(size);
    else if (strcmp(call, "calloc") == 0)
        p = calloc(size, size);
    else if (strcmp(call, "realloc") == 0)
        p = realloc(NULL, size);
    else if (strcmp(call, "rallocx") == 0)
        p = realloc(p, size);
    else if (strcmp(call, "mallocx") == 0)
        p = mallocx(size, 0);
    else if (strcmp(call, "aligned") == 0)
        p = memalign(4096, size);
    else if (strcmp(call, "posix") == 0)
        posix_memalign(&p, 64, size);
    else if (strcmp(call, "alignment") == 0)
        p = posix_memalign(&p, 24, 100) == EINVAL ? NULL : p;
    printf("went on: %d\n", p == NULL);
}

int main(int argc, char **argv)
{
    if (strcmp(argv[1], "fill") == 0) {
        on_new = (int)strtol(argv[2], NULL, 0);
        on_freed = (int)strtol(argv[3], NULL, 0);
        fill();
    } else if (strcmp(argv[1], "out") == 0) {
        out(argv[2]);
    } else {
        size_t size = strtoul(argv[2], NULL, 0);
        for (long i = strtol(argv[3], NULL, 0); i > 0; i--) {
            char *p = malloc(size);
            ((volatile char *)p)[size + 64] =
                ((volatile char *)p)[size + 64]; /* and changes nothing */
        }
        puts("went on");
    }
    return failures != 0;
}
