/* SPDX-License-Identifier: MIT */ /* static-too */
/* mimalloc's functions: sizes, alignments, offsets and zeroes as asked for, errors as mimalloc
 * reports them, and one heap with malloc and free. */
#include <malloc.h>
#include <mimalloc-stats.h>
#include <wchar.h>

#include "tests/api/check.h"

#pragma weak mi_malloc
#pragma weak mi_calloc
#pragma weak mi_realloc
#pragma weak mi_free
#pragma weak mi_zalloc
#pragma weak mi_zalloc_small
#pragma weak mi_malloc_small
#pragma weak mi_mallocn
#pragma weak mi_reallocn
#pragma weak mi_reallocf
#pragma weak mi_reallocarray
#pragma weak mi_reallocarr
#pragma weak mi_expand
#pragma weak mi_cfree
#pragma weak mi_free_size
#pragma weak mi_free_aligned
#pragma weak mi_free_size_aligned
#pragma weak mi_usable_size
#pragma weak mi_good_size
#pragma weak mi_strdup
#pragma weak mi_strndup
#pragma weak mi_wcsdup
#pragma weak mi_realpath
#pragma weak mi_dupenv_s
#pragma weak mi_wdupenv_s
#pragma weak mi_malloc_aligned
#pragma weak mi_malloc_aligned_at
#pragma weak mi_zalloc_aligned
#pragma weak mi_zalloc_aligned_at
#pragma weak mi_calloc_aligned
#pragma weak mi_calloc_aligned_at
#pragma weak mi_realloc_aligned
#pragma weak mi_realloc_aligned_at
#pragma weak mi_rezalloc
#pragma weak mi_recalloc
#pragma weak mi_rezalloc_aligned
#pragma weak mi_rezalloc_aligned_at
#pragma weak mi_recalloc_aligned
#pragma weak mi_aligned_alloc
#pragma weak mi_memalign
#pragma weak mi_posix_memalign
#pragma weak mi_valloc
#pragma weak mi_pvalloc
#pragma weak mi_umalloc
#pragma weak mi_ucalloc
#pragma weak mi_urealloc
#pragma weak mi_ufree
#pragma weak mi_register_error
#pragma weak mi_register_output
#pragma weak mi_register_deferred_free
#pragma weak mi_collect
#pragma weak mi_version
#pragma weak mi_option_get
#pragma weak mi_option_set
#pragma weak mi_option_set_default
#pragma weak mi_option_is_enabled
#pragma weak mi_option_get_clamp
#pragma weak mi_option_get_size
#pragma weak mi_option_disable
#pragma weak mi_is_in_heap_region
#pragma weak mi_check_owned
#pragma weak mi_process_info
#pragma weak mi_stats_print_out
#pragma weak mi_stats_get
#pragma weak mi_stats_get_json
#pragma weak mi_stats_reset
#pragma weak mi_options_print

static const size_t sizes[] = {1, 7, 8, 16, 24, 100, 1000, 5000, 33000, 1000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static size_t errors[200];

static void note_error(int error, void *arg)
{
    CHECK(arg == errors);
    errors[error]++;
}

static void blocks_are_as_asked_for(void)
{
    for (size_t i = 0; i < SIZES; i++) {
        unsigned char *block = mi_malloc(sizes[i]);
        CHECK(block != NULL && is_aligned(block, 16));
        CHECK_EQ(mi_usable_size(block), malloc_usable_size(block));
        CHECK_EQ(mi_good_size(sizes[i]), mi_usable_size(block));
        memset(block, 0xff, mi_usable_size(block));
        mi_free(block);
        block = mi_zalloc(sizes[i]);
        CHECK_EQ(first_other_byte(block, mi_usable_size(block), 0), mi_usable_size(block));
        memset(block, 0xff, mi_usable_size(block));
        free(block);
        block = mi_calloc(sizes[i], 3);
        CHECK_EQ(first_other_byte(block, sizes[i] * 3, 0), sizes[i] * 3);
        mi_free_size(block, sizes[i] * 3);
        mi_free(malloc(sizes[i]));
    }
    mi_free(NULL);
    CHECK_EQ(mi_usable_size(NULL), 0);
    void *nothing = mi_malloc(0), *other = mi_calloc(0, 1000);
    CHECK(nothing != NULL && other != NULL && nothing != other);
    CHECK(mi_usable_size(other) <= 16);
    mi_free(nothing);
    mi_free(other);
    mi_free(mi_malloc_small(1024));
    mi_free(mi_zalloc_small(0));
    mi_free(mi_mallocn(10, 100));
}

static void too_much_is_refused(void)
{
    mi_register_error(note_error, errors);
    memset(errors, 0, sizeof errors);
    errno = 0;
    CHECK(mi_malloc(opaque_size((size_t)PTRDIFF_MAX + 1)) == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK(errors[EOVERFLOW] == 1 && errors[ENOMEM] == 1);
    CHECK(mi_calloc(opaque_size(SIZE_MAX / 4), 1000) == NULL);
    CHECK(mi_mallocn(opaque_size(SIZE_MAX / 2), 4) == NULL);
    CHECK_EQ(errors[EOVERFLOW], 3);
    CHECK(mi_malloc(opaque_size((size_t)1 << 60)) == NULL);
    CHECK_EQ(errors[EOVERFLOW], 3);
    CHECK_EQ(errors[ENOMEM], 4);
    char *block = mi_malloc(50), *before = block;
    pattern_fill(block, 50, 5);
    CHECK(mi_realloc(block, opaque_size((size_t)1 << 60)) == NULL);
    errno = 0;
    CHECK(mi_reallocarray(block, opaque_size(SIZE_MAX / 2), 4) == NULL && errno == EOVERFLOW);
    CHECK_EQ(mi_reallocarr(&block, opaque_size(SIZE_MAX / 2), 4), EOVERFLOW);
    CHECK(block == before && pattern_differs_at(block, 50, 5) == 50);
    CHECK_EQ(mi_reallocarr(&block, 100, 10), 0);
    CHECK_EQ(mi_reallocarr(&block, 10, 0), EINVAL);
    CHECK(block != NULL);
    CHECK_EQ(mi_reallocarr(&block, 0, 10), 0);
    CHECK(block == NULL);
    CHECK_EQ(mi_reallocarr(&block, 100, 10), 0);
    CHECK_EQ(pattern_differs_at(block, 50, 5), 50);
    CHECK(mi_reallocf(block, opaque_size(SIZE_MAX)) == NULL); /* which has freed it */
    mi_register_error(NULL, NULL);
}

/* The program is told of a wrong free, and goes on. */
static void wrong_frees_are_told(void)
{
    int here = 0;
    mi_register_error(note_error, errors);
    memset(errors, 0, sizeof errors);
    char *block = mi_malloc(40);
    mi_free(block);
    mi_free(opaque_ptr(block));
    CHECK_EQ(errors[EAGAIN], 1);
    mi_free(opaque_ptr(&here));
    CHECK_EQ(errors[EINVAL], 1);
    mi_cfree(opaque_ptr(&here));
    CHECK_EQ(errors[EINVAL], 1);
    mi_cfree(mi_malloc(10));
    mi_register_error(NULL, NULL);
}

static void alignments_are_kept(void)
{
    for (size_t i = 0; i < SIZES; i++)
        for (size_t align = 1; align <= (size_t)1 << 21; align *= 2) {
            unsigned char *block = mi_malloc_aligned(sizes[i], align);
            CHECK(block != NULL && is_aligned(block, align));
            CHECK(mi_usable_size(block) >= sizes[i]);
            mi_free(block);
            block = mi_zalloc_aligned(sizes[i], align);
            size_t usable = mi_usable_size(block);
            CHECK(is_aligned(block, align) && first_other_byte(block, usable, 0) == usable);
            memset(block, 0xff, usable);
            mi_free_aligned(block, align);
        }
    void *out = &out;
    CHECK_EQ(mi_posix_memalign(&out, 64, 10), 0);
    CHECK(is_aligned(out, 64));
    mi_free_size_aligned(out, 10, 64);
    out = &out;
    CHECK_EQ(mi_posix_memalign(&out, 3, 32), EINVAL);
    CHECK_EQ(mi_posix_memalign(&out, 24, 32), EINVAL);
    CHECK_EQ(mi_posix_memalign(NULL, 16, 32), EINVAL);
    CHECK_EQ(mi_posix_memalign(&out, 16, opaque_size(SIZE_MAX)), ENOMEM);
    CHECK(out == &out);
    CHECK(mi_malloc_aligned(100, opaque_size(3)) == NULL);
    CHECK(mi_malloc_aligned(100, opaque_size(0)) == NULL);
    CHECK(mi_memalign(opaque_size(24), 100) == NULL);
    out = mi_aligned_alloc(64, 100);
    CHECK(is_aligned(out, 64));
    mi_free(out);
    out = mi_valloc(10);
    CHECK(is_aligned(out, 4096));
    mi_free(out);
    out = mi_pvalloc(10);
    CHECK(is_aligned(out, 4096) && mi_usable_size(out) >= 4096);
    mi_free(out);
}

/* The pointer is inside of a block, and all functions take it. */
static void offsets_are_kept(void)
{
    static const size_t offsets[] = {0, 1, 8, 16, 17, 64, 100, 4096};
    unsigned char *blocks[8];
    for (size_t i = 0; i < SIZES; i++)
        for (size_t align = 1; align <= 8192; align *= 4) {
            for (size_t k = 0; k < 8; k++) {
                blocks[k] = mi_malloc_aligned_at(sizes[i], align, offsets[k]);
                CHECK(blocks[k] != NULL && is_aligned(blocks[k] + offsets[k], align));
                CHECK(mi_usable_size(blocks[k]) >= sizes[i]);
                CHECK_EQ(mi_usable_size(blocks[k]), malloc_usable_size(blocks[k]));
                pattern_fill(blocks[k], sizes[i], k);
            }
            for (size_t k = 0; k < 8; k++) {
                unsigned char *block = blocks[k];
                size_t keeps = sizes[i], more = sizes[i] * 2 + 1;
                CHECK_EQ(pattern_differs_at(block, keeps, k), keeps);
                block = mi_realloc_aligned_at(block, more, align, offsets[k]);
                CHECK(is_aligned(block + offsets[k], align));
                CHECK_EQ(pattern_differs_at(block, keeps, k), keeps);
                if (k % 2 == 0)
                    block = realloc(block, more * 2);
                CHECK_EQ(pattern_differs_at(block, keeps, k), keeps);
                if (k % 3 == 0)
                    mi_free(block);
                else
                    free(block);
            }
        }
    unsigned char *block = mi_zalloc_aligned_at(50, 32, 8);
    CHECK(is_aligned(block + 8, 32) && first_other_byte(block, 50, 0) == 50);
    mi_register_error(note_error, errors);
    memset(errors, 0, sizeof errors);
    mi_free(block);
    mi_free(opaque_ptr(block));
    CHECK_EQ(errors[EAGAIN] + errors[EINVAL], 1);
    mi_register_error(NULL, NULL);
}

static void many_offsets(void)
{
    enum { MANY = 5000 };
    static unsigned char *blocks[MANY];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            blocks[i] = mi_malloc_aligned_at(i % 300 + 1, 64, 8);
            CHECK(is_aligned(blocks[i] + 8, 64));
            blocks[i][0] = (unsigned char)i;
        }
        for (size_t i = 0; i < MANY; i++) {
            CHECK_EQ(blocks[i][0], (unsigned char)i);
            CHECK(mi_usable_size(blocks[i]) >= i % 300 + 1);
            mi_free(blocks[i]);
        }
    }
}

static void resizing_keeps_and_clears(void)
{
    char *block = mi_realloc(NULL, 10);
    CHECK(block != NULL);
    block = mi_realloc(block, 0);
    CHECK(block != NULL);
    for (size_t i = 0; i < SIZES; i++) {
        block = mi_realloc(block, sizes[i]);
        pattern_fill(block, sizes[i], i);
        if (i > 0)
            CHECK(mi_expand(block, mi_usable_size(block)) == block);
        CHECK(mi_expand(block, mi_usable_size(block) + 1) == NULL);
        block = mi_reallocn(block, sizes[i], 3);
        CHECK_EQ(pattern_differs_at(block, sizes[i], i), sizes[i]);
    }
    mi_free(block);
    for (size_t i = 0; i < SIZES; i++)
        for (size_t k = 0; k < SIZES; k++) {
            /* Written to the last byte asked for, shrunk and grown again: all else is zero. */
            size_t keeps = sizes[i] < sizes[k] ? sizes[i] : sizes[k];
            unsigned char *zeroed = mi_rezalloc(NULL, sizes[i]);
            pattern_fill(zeroed, sizes[i], 9);
            zeroed = mi_rezalloc(zeroed, sizes[k]);
            CHECK_EQ(pattern_differs_at(zeroed, keeps, 9), keeps);
            CHECK_EQ(first_other_byte(zeroed + keeps, sizes[k] - keeps, 0), sizes[k] - keeps);
            zeroed = mi_recalloc_aligned(zeroed, sizes[i], 2, 64);
            size_t now = sizes[i] * 2, kept = keeps < now ? keeps : now;
            CHECK(is_aligned(zeroed, 64));
            CHECK_EQ(pattern_differs_at(zeroed, kept, 9), kept);
            CHECK_EQ(first_other_byte(zeroed + kept, now - kept, 0), now - kept);
            zeroed = mi_rezalloc_aligned_at(zeroed, now * 3, 32, 8);
            CHECK(is_aligned(zeroed + 8, 32));
            CHECK_EQ(first_other_byte(zeroed + now, now * 2, 0), now * 2);
            mi_free(zeroed);
        }
}

static void copies(void)
{
    char *text = mi_strdup("some text"), *part = mi_strndup("some text", 4);
    CHECK(strcmp(text, "some text") == 0 && strcmp(part, "some") == 0);
    mi_free(text);
    free(part);
    CHECK(mi_strdup(NULL) == NULL);
    wchar_t *wide = mi_wcsdup(L"wide");
    CHECK_EQ(wcscmp(wide, L"wide"), 0);
    mi_free(wide);
    char *path = mi_realpath("/usr/../usr/.", NULL);
    CHECK(path != NULL && strcmp(path, "/usr") == 0);
    mi_free(path);
    size_t length = 77;
    setenv("MIMALLOC_TEST_VALUE", "value", 1);
    CHECK_EQ(mi_dupenv_s(&text, &length, "MIMALLOC_TEST_VALUE"), 0);
    CHECK(strcmp(text, "value") == 0 && length == 6);
    mi_free(text);
    CHECK(mi_dupenv_s(&text, &length, "MIMALLOC_NO_SUCH") == 0 && text == NULL);
}

static void sizes_are_told(void)
{
    size_t usable = 0, before = 0;
    void *block = mi_umalloc(100, &usable);
    CHECK_EQ(usable, mi_usable_size(block));
    block = mi_urealloc(block, 1000, &before, &usable);
    CHECK(before >= 100 && before < 200 && usable >= 1000);
    mi_ufree(block, &before);
    CHECK_EQ(before, usable);
    block = mi_ucalloc(10, 10, &usable);
    CHECK_EQ(first_other_byte(block, usable, 0), usable);
    mi_free(block);
}

static size_t beats, forced, output_bytes;

static void deferred(bool force, unsigned long long beat, void *arg)
{
    CHECK(arg == &beats && beat > 0);
    beats++;
    forced += force;
    mi_free(mi_malloc(100000)); /* may allocate */
}

static void output(const char *text, void *arg)
{
    CHECK(arg == &output_bytes);
    output_bytes += strlen(text);
}

static void callbacks_are_called(void)
{
    void *blocks[100];
    mi_register_deferred_free(deferred, &beats);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++)
            blocks[i] = mi_malloc(2000);
        for (int i = 0; i < 100; i++)
            mi_free(blocks[i]);
    }
    CHECK(beats > 0);
    mi_collect(true);
    CHECK(forced > 0);
    mi_register_deferred_free(NULL, NULL);
    mi_stats_print_out(output, &output_bytes);
    CHECK(output_bytes > 500);
    output_bytes = 0;
    mi_register_output(output, &output_bytes);
    mi_options_print();
    CHECK(output_bytes > 500);
    mi_register_output(NULL, NULL);
}

static void options_are_kept(void)
{
    CHECK_EQ(mi_version(), MI_MALLOC_VERSION);
    CHECK_EQ(mi_option_get(mi_option_purge_delay), 10);
    mi_option_set(mi_option_purge_delay, 50);
    mi_option_set_default(mi_option_purge_delay, 60);
    CHECK_EQ(mi_option_get(mi_option_purge_delay), 50);
    CHECK_EQ(mi_option_get_clamp(mi_option_purge_delay, 0, 20), 20);
    CHECK_EQ(mi_option_get_size(mi_option_arena_reserve), 1 << 30);
    CHECK(mi_option_is_enabled(mi_option_allow_thp));
    mi_option_disable(mi_option_generic_collect);
    CHECK(!mi_option_is_enabled(mi_option_generic_collect));
    CHECK_EQ(mi_option_get((mi_option_t)999), 0);
    CHECK_EQ(mi_option_get((mi_option_t)-1), 0);
}

/* Each kind of blocks has the peak of the moment when the heap was largest. */
static void peaks_fit(void)
{
    enum { COUNT = 4000, BYTES = 10000, LARGE = 64 << 20 };
    static char *blocks[COUNT];
    mi_stats_t_decl(after);
    char *large = mi_malloc(LARGE);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = mi_malloc(BYTES);
    for (int i = 0; i < COUNT; i++)
        mi_free(blocks[i]);
    mi_free(large);
    CHECK(mi_stats_get(&after));
    CHECK(after.malloc_normal.peak >= after.malloc_normal.current + COUNT / 10 * 9 * BYTES);
    CHECK(after.malloc_huge.peak >= after.malloc_huge.current + LARGE);
}

static void numbers_fit(void)
{
    char *blocks[100], *json;
    mi_stats_t_decl(before);
    mi_stats_t_decl(after);
    size_t rss = 0, peak = 0, ms = SIZE_MAX;
    CHECK(mi_stats_get(&before));
    for (int i = 0; i < 100; i++)
        blocks[i] = mi_malloc(10000);
    blocks[0] = mi_realloc(blocks[0], 100000);
    CHECK(mi_stats_get(&after));
    CHECK_EQ(after.malloc_normal.current - before.malloc_normal.current, 99 * 12288);
    CHECK_EQ(after.malloc_normal_count.total - before.malloc_normal_count.total, 100);
    CHECK_EQ(after.malloc_huge.current - before.malloc_huge.current, 102400);
    for (int i = 0; i < 100; i++)
        mi_free(blocks[i]);
    CHECK(mi_stats_get(&after));
    CHECK_EQ(after.malloc_normal.current, before.malloc_normal.current);
    after.version = 1;
    CHECK(!mi_stats_get(&after));
    json = mi_stats_get_json(0, NULL);
    CHECK(strstr(json, "\"malloc_normal\": { \"total\": ") != NULL);
    mi_free(json);
    mi_process_info(&ms, NULL, NULL, &rss, &peak, NULL, NULL, NULL);
    CHECK(ms < 1000000 && rss > 100000 && peak >= rss && rss < (size_t)1 << 40);
    CHECK(mi_is_in_heap_region(blocks[1]) && !mi_is_in_heap_region(&rss));
    blocks[0] = mi_malloc(10);
    CHECK(mi_check_owned(blocks[0]) && !mi_check_owned(&rss) && !mi_check_owned(blocks[0] + 1));
    CHECK(mi_check_owned(blocks[0] + sizeof(void *)));
    mi_free(blocks[0]);
}

int main(void)
{
    blocks_are_as_asked_for();
    too_much_is_refused();
    wrong_frees_are_told();
    alignments_are_kept();
    offsets_are_kept();
    many_offsets();
    resizing_keeps_and_clears();
    copies();
    sizes_are_told();
    options_are_kept();
    callbacks_are_called();
    numbers_fit();
    peaks_fit();
    return check_result();
}
