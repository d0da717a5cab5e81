/* SPDX-License-Identifier: MIT */
/* helper of walks_with_clang.sh: allocates through every entry point, each from a chain of calls
 * whose return addresses the functions note themselves, and finds these chains in the profile. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define HERE     ((uintptr_t)__builtin_return_address(0))

void *memalign(size_t align, size_t size);
void *valloc(size_t size);
void *reallocarray(void *block, size_t count, size_t size);
void *mallocx(size_t size, int flags) __attribute__((weak));
void *tc_malloc(size_t size) __attribute__((weak));
void *_Znwm(size_t size) __attribute__((weak)); /* operator new */
void HeapProfilerStart(const char *prefix) __attribute__((weak));
char *GetHeapProfile(void) __attribute__((weak));

enum { DEPTH = 4, LEAF_BYTES = 256 };
static uintptr_t chain[DEPTH];
static void *volatile kept[64];
static unsigned count;
static volatile int after; /* changed behind a call, so that it is no jump */

#define LEAF(name, expression)                    \
    static NOINLINE void leaf_##name(size_t size) \
    {                                             \
        void *block = NULL;                       \
        chain[0] = HERE;                          \
        block = expression;                       \
        kept[count++] = block;                    \
    }
LEAF(malloc, malloc(size))
LEAF(calloc, calloc(1, size))
LEAF(realloc, realloc(malloc(20), size))
LEAF(reallocarray, reallocarray(NULL, 1, size))
LEAF(memalign, memalign(64, size))
LEAF(aligned_alloc, aligned_alloc(128, size))
LEAF(posix_memalign, posix_memalign(&block, 64, size) == 0 ? block : NULL)
LEAF(valloc, valloc(size))
LEAF(mallocx, mallocx(size, 0))
LEAF(tc_malloc, tc_malloc(size))
LEAF(new, _Znwm(size))

static NOINLINE void third(void (*leaf)(size_t), size_t size)
{
    char text[100];
    chain[1] = HERE;
    snprintf(text, sizeof text, "%zu", size);
    leaf(size);
    after = text[0];
}

static NOINLINE void second(void (*leaf)(size_t), size_t size)
{
    volatile char room[size % 100 + 1];
    chain[2] = HERE;
    room[0] = 1;
    third(leaf, size);
    after = room[0];
}

static NOINLINE void first(void (*leaf)(size_t), size_t size)
{
    chain[3] = HERE;
    second(leaf, size);
    after = 3;
}

/* The frames of the one line of the profile that has `size` live: "1: SIZE [1: SIZE] @ 0x... " */
static int frames_of(const char *profile, size_t size, uintptr_t *frames, int max)
{
    for (const char *line = profile; line != NULL; line = strchr(line + 1, '\n')) {
        unsigned long blocks, bytes;
        if (sscanf(line, " %lu: %lu [", &blocks, &bytes) != 2 || blocks != 1 || bytes != size)
            continue;
        const char *at = strchr(line, '@'), *end = strchr(line + 1, '\n');
        int found = 0;
        while (at != NULL && found < max && (at = strstr(at, " 0x")) != NULL &&
               (end == NULL || at < end))
            frames[found++] = strtoull(++at, NULL, 16);
        return found;
    }
    return 0;
}

static int check(const char *name, void (*leaf)(size_t), size_t size)
{
    uintptr_t frames[DEPTH + 1] = {0};
    first(leaf, size);
    char *profile = GetHeapProfile();
    int found = frames_of(profile, size, frames, DEPTH + 1);
    int wrong = found < DEPTH + 1 || frames[0] < (uintptr_t)leaf ||
                frames[0] > (uintptr_t)leaf + LEAF_BYTES;
    for (int i = 0; i < DEPTH && !wrong; i++)
        wrong = frames[i + 1] != chain[i];
    if (wrong) {
        printf("%s of %zu bytes: %d frames:", name, size, found);
        for (int i = 0; i < found; i++)
            printf(" %lx", (unsigned long)frames[i]);
        printf(", not %lx..", (unsigned long)(uintptr_t)leaf);
        for (int i = 0; i < DEPTH; i++)
            printf(" %lx", (unsigned long)chain[i]);
        printf("\n");
    }
    free(profile);
    return wrong;
}

int main(void)
{
    static const struct {
        const char *name;
        void (*leaf)(size_t);
    } leaves[] = {
        {"malloc", leaf_malloc},
        {"calloc", leaf_calloc},
        {"realloc", leaf_realloc},
        {"reallocarray", leaf_reallocarray},
        {"memalign", leaf_memalign},
        {"aligned_alloc", leaf_aligned_alloc},
        {"posix_memalign", leaf_posix_memalign},
        {"valloc", leaf_valloc},
        {"mallocx", leaf_mallocx},
        {"tc_malloc", leaf_tc_malloc},
        {"operator new", leaf_new},
    };
    int wrong = 0;
    if (HeapProfilerStart == NULL || GetHeapProfile == NULL) {
        printf("the library is not there\n");
        return 2;
    }
    HeapProfilerStart("unused");
    for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        wrong += check(leaves[i].name, leaves[i].leaf, 101 + i);    /* small */
        wrong += check(leaves[i].name, leaves[i].leaf, 5001 + i);   /* up to 32 KiB */
        wrong += check(leaves[i].name, leaves[i].leaf, 100001 + i); /* large */
    }
    printf("%d of 33 stacks are wrong\n", wrong);
    return wrong != 0;
}
