/* SPDX-License-Identifier: MIT */
/*
 * The table that MALLOCSTATS prints at the end and MallocExtension's GetStats hands over. The words
 * and columns are tcmalloc's, which people and scripts look for; docs/COMPATIBILITY.md says what
 * each number is here.
 */
#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/faces/gperftools/gperftools.h"

static const char line[] = "------------------------------------------------\n";

static uint64_t spans_in_use(void);
static void row(struct print *out, const char *start, uint64_t bytes, const char *what);
static void count(struct print *out, uint64_t value, const char *what);
static void by_class(struct print *out, const struct account *account);
static void by_length(struct print *out);

void gperftools_stats(struct print *out, unsigned level)
{
    static const char sum[] = "MALLOC:   ------------\n";
    struct account a;
    account_take(&a);
    uint64_t used =
        a.live_bytes + a.dirty_bytes + a.fragmented_bytes + a.cached_bytes + a.metadata_bytes;
    print_text(out, line);
    row(out, "MALLOC:   ", a.live_bytes, "Bytes in use by application");
    row(out, "MALLOC: + ", a.dirty_bytes, "Bytes in page heap freelist");
    row(out, "MALLOC: + ", a.fragmented_bytes, "Bytes in central cache freelist");
    row(out, "MALLOC: + ", 0, "Bytes in transfer cache freelist");
    row(out, "MALLOC: + ", a.cached_bytes, "Bytes in thread cache freelists");
    row(out, "MALLOC: + ", a.metadata_bytes, "Bytes in malloc metadata");
    print_text(out, sum);
    row(out, "MALLOC: = ", used, "Actual memory used (physical + swap)");
    row(out, "MALLOC: + ", a.clean_bytes, "Bytes released to OS (aka unmapped)");
    print_text(out, sum);
    row(out, "MALLOC: = ", used + a.clean_bytes, "Virtual address space used");
    print_text(out, "MALLOC:\n");
    count(out, spans_in_use(), "Spans in use");
    count(out, a.heaps, "Thread heaps in use");
    count(out, UNIT, "Tcmalloc page size");
    print_text(out, line);
    print_text(out,
               "Call ReleaseFreeMemory() to release freelist memory to the OS (via madvise()).\n"
               "Bytes released to the OS take up virtual address space but no physical "
               "memory.\n");
    if (level > 1) {
        by_class(out, &a);
        by_length(out);
    }
}

RACY static uint64_t spans_in_use(void)
{
    uint64_t spans = 0;
    for (uint32_t id = 1, ids = span_count(); id < ids; id++) {
        uint8_t state = load_relaxed(&span_at(id)->state);
        spans += state == SPAN_BLOCKS || state == SPAN_LARGE;
    }
    return spans;
}

static void row(struct print *out, const char *start, uint64_t bytes, const char *what)
{
    print_text(out, start);
    size_t from = print_length(out);
    print_unsigned(out, bytes);
    print_right(out, from, 12);
    print_text(out, " (");
    from = print_length(out);
    print_decimal(out, (bytes * 10 + (1 << 19)) >> 20, 1);
    print_right(out, from, 7);
    print_format(out, " MiB) %s\n", what);
}

static void count(struct print *out, uint64_t value, const char *what)
{
    print_text(out, "MALLOC:   ");
    size_t from = print_length(out);
    print_unsigned(out, value);
    print_right(out, from, 12);
    print_format(out, "              %s\n", what);
}

/* A number, right-aligned in `width` columns; then the text. */
static void column(struct print *out, uint64_t value, size_t width, const char *text)
{
    size_t from = print_length(out);
    print_unsigned(out, value);
    print_right(out, from, width);
    print_text(out, text);
}

/* The same in MiB. */
static void mebibytes(struct print *out, uint64_t bytes, unsigned places, size_t width,
                      const char *text)
{
    size_t from = print_length(out);
    uint64_t ten = places == 1 ? 10 : 1000;
    print_decimal(out, (bytes * ten + (1 << 19)) >> 20, places);
    print_right(out, from, width);
    print_text(out, text);
}

static void by_class(struct print *out, const struct account *account)
{
    uint64_t sum = 0;
    print_text(out, line);
    print_text(out, "Total size of freelists for per-thread caches,\n"
                    "transfer cache, and central cache, by size class\n");
    print_text(out, line);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        uint64_t blocks = account->free[class].cached + account->free[class].here;
        uint64_t bytes = blocks * class_size(class);
        if (blocks == 0)
            continue;
        sum += bytes;
        print_text(out, "class ");
        column(out, class, 3, " [ ");
        column(out, class_size(class), 8, " bytes ] : ");
        column(out, blocks, 8, " objs; ");
        mebibytes(out, bytes, 1, 5, " MiB; ");
        mebibytes(out, sum, 1, 5, " cum MiB; ");
        mebibytes(out, 0, 3, 8, " overhead MiB; ");
        mebibytes(out, 0, 3, 8, " cum overhead MiB\n");
    }
}

/* Free runs by length; the last one is for all that are longer. */
enum { LENGTH_MAX = 128 };
struct lengths {
    uint64_t spans[LENGTH_MAX + 2], dirty[LENGTH_MAX + 2], clean[LENGTH_MAX + 2]; /* bytes */
};

RACY static void count_lengths(struct lengths *lengths)
{
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++) {
        const struct span *span = span_at(id);
        uint8_t state = load_relaxed(&span->state);
        if (state != SPAN_DIRTY && state != SPAN_CLEAN)
            continue;
        uint32_t length = span->units > LENGTH_MAX ? LENGTH_MAX + 1 : span->units;
        uint64_t bytes = (uint64_t)span->units << UNIT_SHIFT;
        lengths->spans[length]++;
        *(state == SPAN_DIRTY ? &lengths->dirty[length] : &lengths->clean[length]) += bytes;
    }
}

static void by_length(struct print *out)
{
    struct lengths lengths = {0};
    uint64_t free_bytes = 0, clean = 0, sizes = 0;
    count_lengths(&lengths);
    for (unsigned i = 1; i < COUNT_OF(lengths.spans); i++) {
        free_bytes += lengths.dirty[i];
        clean += lengths.clean[i];
        sizes += i <= LENGTH_MAX && lengths.spans[i] > 0;
    }
    print_text(out, line);
    print_format(out, "PageHeap: %lu sizes; ", sizes);
    mebibytes(out, free_bytes, 1, 6, " MiB free; ");
    mebibytes(out, clean, 1, 6, " MiB unmapped\n");
    print_text(out, line);
    uint64_t sum = 0, sum_clean = 0;
    for (unsigned i = 1; i < COUNT_OF(lengths.spans); i++) {
        if (i <= LENGTH_MAX && lengths.spans[i] == 0)
            continue;
        sum += lengths.dirty[i] + lengths.clean[i];
        sum_clean += lengths.clean[i];
        if (i <= LENGTH_MAX)
            column(out, i, 6, " pages * ");
        else
            print_text(out, ">128   large * ");
        column(out, lengths.spans[i], 6, " spans ~ ");
        mebibytes(out, lengths.dirty[i] + lengths.clean[i], 1, 6, " MiB; ");
        mebibytes(out, sum, 1, 6, " MiB cum; unmapped: ");
        mebibytes(out, lengths.clean[i], 1, 6, " MiB; ");
        mebibytes(out, sum_clean, 1, 6, " MiB cum\n");
    }
}
