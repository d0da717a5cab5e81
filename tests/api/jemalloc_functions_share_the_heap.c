/* SPDX-License-Identifier: MIT */ /* static-too */
/* The functions of jemalloc that end in x, and those with the prefix je_: sizes, alignments and
 * zeroes as asked for, and one heap with malloc and free. */
#include "memoir/compat/jemalloc/jemalloc.h"

#include "tests/api/check.h"

#pragma weak mallocx
#pragma weak rallocx
#pragma weak xallocx
#pragma weak sallocx
#pragma weak dallocx
#pragma weak sdallocx
#pragma weak nallocx
#pragma weak je_malloc
#pragma weak je_calloc
#pragma weak je_realloc
#pragma weak je_free
#pragma weak je_posix_memalign
#pragma weak je_aligned_alloc
#pragma weak je_malloc_usable_size
#pragma weak malloc_stats_print

static void sizes_are_as_promised(void)
{
    static const size_t sizes[] = {1, 100, 1000, 5000, 33000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int lg = 0; lg <= 13; lg++) {
            int flags = MALLOCX_LG_ALIGN(lg) | MALLOCX_ZERO;
            unsigned char *block = mallocx(sizes[i], flags);
            CHECK(block != NULL && is_aligned(block, (size_t)1 << lg));
            CHECK_EQ(sallocx(block, 0), malloc_usable_size(block));
            CHECK_AT(nallocx(sizes[i], flags) == sallocx(block, 0),
                     "size %zu, align 2^%d: %zu, %zu", sizes[i], lg, nallocx(sizes[i], flags),
                     sallocx(block, 0));
            CHECK_EQ(first_other_byte(block, sizes[i], 0), sizes[i]);
            CHECK_EQ(xallocx(block, sizes[i], 0, 0), sallocx(block, 0));
            sdallocx(block, sizes[i], flags);
        }
    CHECK_EQ(nallocx((size_t)PTRDIFF_MAX + 1, 0), 0);
    CHECK(mallocx(opaque_size(PTRDIFF_MAX), 0) == NULL);
}

static void resizing_keeps_content(void)
{
    for (int lg = 0; lg <= 12; lg += 4) {
        int flags = MALLOCX_LG_ALIGN(lg) | MALLOCX_ZERO;
        unsigned char *block = mallocx(100, flags);
        pattern_fill(block, 100, 7);
        size_t before = sallocx(block, 0);
        block = rallocx(block, 70000, flags);
        CHECK(block != NULL && is_aligned(block, (size_t)1 << lg));
        CHECK_EQ(pattern_differs_at(block, 100, 7), 100);
        CHECK_EQ(first_other_byte(block + before, 70000 - before, 0), 70000 - before);
        block = rallocx(block, 50, flags);
        CHECK_EQ(pattern_differs_at(block, 50, 7), 50);
        dallocx(block, flags);
    }
}

static void prefixed_names_share_the_heap(void)
{
    void *block = je_malloc(100), *aligned = NULL;
    CHECK_EQ(je_malloc_usable_size(block), malloc_usable_size(block));
    block = realloc(block, 1000);
    block = je_realloc(block, 100);
    free(block);
    je_free(calloc(3, 5));
    CHECK_EQ(je_posix_memalign(&aligned, 64, 10), 0);
    CHECK(is_aligned(aligned, 64));
    free(aligned);
    aligned = je_aligned_alloc(4096, 10);
    CHECK(is_aligned(aligned, 4096));
    je_free(aligned);
    block = je_calloc(10, 10);
    CHECK_EQ(first_other_byte(block, 100, 0), 100);
    dallocx(block, 0);
}

static char printed[1 << 20];
static size_t printed_length;

static void collect(void *opaque, const char *text)
{
    CHECK(opaque == printed);
    size_t length = strlen(text);
    if (printed_length + length < sizeof printed)
        memcpy(printed + printed_length, text, length + 1);
    printed_length += length;
}

static void statistics_are_printed(void)
{
    malloc_stats_print(collect, printed, NULL);
    CHECK(strstr(printed, "config.fill: true") && strstr(printed, "config.xmalloc: true") &&
          strstr(printed, "config.debug: false"));
    CHECK(strncmp(printed, "___ Begin jemalloc statistics ___\n", 34) == 0);
    CHECK(strstr(printed, "\n  opt.prof: ") != NULL && strstr(printed, "\nAllocated: ") != NULL);
    CHECK(strstr(printed, "\n--- End jemalloc statistics ---\n") != NULL);
    printed_length = 0;
    malloc_stats_print(collect, printed, "gab");
    CHECK(strstr(printed, "opt.prof") == NULL && strstr(printed, "bins:") == NULL);
    printed_length = 0;
    malloc_stats_print(collect, printed, "J");
    CHECK(strncmp(printed, "{\"jemalloc\":{\"version\":", 23) == 0);
    CHECK(strstr(printed, "\"stats\":{\"allocated\":") != NULL);
    long depth = 0;
    for (const char *c = printed; *c != '\0'; c++)
        depth += *c == '{' || *c == '[' ? 1 : *c == '}' || *c == ']' ? -1 : 0;
    CHECK_EQ(depth, 0);
}

int main(void)
{
    if (!CHECK(mallocx != NULL && je_malloc != NULL && malloc_stats_print != NULL))
        return check_result();
    sizes_are_as_promised();
    resizing_keeps_content();
    prefixed_names_share_the_heap();
    statistics_are_printed();
    return check_result();
}
