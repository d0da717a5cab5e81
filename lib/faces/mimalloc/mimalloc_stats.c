/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's statistics: filled from memoir's account, printed as its table or as JSON, or copied
 * into the program's structure. Counters of parts that memoir does not have (segments, resets,
 * abandoned pages) are 0.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/faces/mimalloc/mimalloc_region.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum {
    BINS = 74,    /* the last one is for blocks that have a run of pages of their own */
    VERSION2 = 4, /* of mi_stats_t, in releases 2 and 3 */
    VERSION3 = 5,
    RESERVED = 4,
    CHUNK_BINS = 6,
    JSON_SIZE = 64 << 10,
    TABLE_SIZE = 6144,
};

struct count {
    int64_t total, peak, current;
};

/* All fields of both releases: COUNT rises and falls, COUNTER only rises. BOTH, or ONLY3: release 2
 * has no such field. */
#define FIELDS(COUNT, COUNTER)               \
    COUNT(pages, BOTH)                       \
    COUNT(reserved, BOTH)                    \
    COUNT(committed, BOTH)                   \
    COUNTER(reset, BOTH)                     \
    COUNTER(purged, BOTH)                    \
    COUNT(page_committed, BOTH)              \
    COUNT(pages_abandoned, BOTH)             \
    COUNT(threads, BOTH)                     \
    COUNT(malloc_normal, BOTH)               \
    COUNT(malloc_huge, BOTH)                 \
    COUNT(malloc_requested, BOTH)            \
    COUNTER(mmap_calls, BOTH)                \
    COUNTER(commit_calls, BOTH)              \
    COUNTER(reset_calls, BOTH)               \
    COUNTER(purge_calls, BOTH)               \
    COUNTER(arena_count, BOTH)               \
    COUNTER(malloc_normal_count, BOTH)       \
    COUNTER(malloc_huge_count, BOTH)         \
    COUNTER(malloc_guarded_count, BOTH)      \
    COUNTER(arena_rollback_count, BOTH)      \
    COUNTER(arena_purges, BOTH)              \
    COUNTER(pages_extended, BOTH)            \
    COUNTER(pages_retire, BOTH)              \
    COUNTER(page_searches, BOTH)             \
    COUNTER(page_searches_count, BOTH)       \
    COUNT(segments, BOTH)                    \
    COUNT(segments_abandoned, BOTH)          \
    COUNT(segments_cache, BOTH)              \
    COUNT(_segments_reserved, BOTH)          \
    COUNT(heaps, ONLY3)                      \
    COUNT(theaps, ONLY3)                     \
    COUNTER(pages_reclaim_on_alloc, BOTH)    \
    COUNTER(pages_reclaim_on_free, BOTH)     \
    COUNTER(pages_reabandon_full, BOTH)      \
    COUNTER(pages_unabandon_busy_wait, BOTH) \
    COUNTER(heaps_delete_wait, ONLY3)

#define COUNT(field, in)   struct count field;
#define COUNTER(field, in) int64_t field;
struct stats {
    FIELDS(COUNT, COUNTER)
    struct count bins[BINS]; /* blocks by size */
};
#undef COUNT
#undef COUNTER

enum { BOTH = 2, ONLY3 = 3 };
/* The fields as a table: name, place, whether it is a count, since which release. */
static const struct field {
    uint16_t offset;
    uint8_t is_count, since;
} fields[] = {
#define COUNT(field, in)   {offsetof(struct stats, field), 1, in},
#define COUNTER(field, in) {offsetof(struct stats, field), 0, in},
    FIELDS(COUNT, COUNTER)
#undef COUNT
#undef COUNTER
};
#define COUNT(field, in)   #field "\0"
#define COUNTER(field, in) #field "\0"
static const char names[] = FIELDS(COUNT, COUNTER);
#undef COUNT
#undef COUNTER

static BULK struct account_sum before[ACCOUNT_ROWS]; /* at the last mi_stats_reset */

FUNCTION(void, mi_stats_reset, (void))
{
    if (!init_done())
        return;
    account_classes(before);
    account_move_lent(before);
}

/* The largest block of a bin of mimalloc's: eight multiples of a word, then four a doubling. */
static size_t bin_size(size_t bin)
{
    if (bin <= 8)
        return (bin == 0 ? 1 : bin) * sizeof(void *);
    size_t step = bin + 3;
    return (((step & 3) + 5) << ((step >> 2) - 2)) * sizeof(void *);
}

static unsigned bin_of(size_t size)
{
    unsigned bin = 1;
    while (bin < BINS - 1 && bin_size(bin) < size)
        bin++;
    return bin;
}

static void count_add(struct count *to, uint64_t total, uint64_t current)
{
    to->total += (int64_t)total;
    to->current += (int64_t)current;
    to->peak = to->peak > to->current ? to->peak : to->current;
}

static struct count level(uint64_t now)
{
    return (struct count){(int64_t)now, (int64_t)now, (int64_t)now};
}

/* Blocks and bytes, in all and by bins. Peaks are what each held when the heap was largest. */
static void fill_blocks(struct stats *stats, struct account *account)
{
    struct totals_peak peak;
    totals_peak(account, &peak);
    account_move_lent(account->classes);
    for (unsigned row = 1; row < ACCOUNT_ROWS; row++) {
        bool large = row == ACCOUNT_LARGE;
        (large ? &stats->malloc_huge : &stats->malloc_normal)->peak +=
            (int64_t)peak.classes[row].bytes;
        stats->bins[large ? BINS - 1 : bin_of(class_size(row))].peak +=
            (int64_t)peak.classes[row].blocks;
    }
    for (unsigned row = 1; row < ACCOUNT_ROWS; row++) {
        const struct account_sum *sum = &account->classes[row];
        bool large = row == ACCOUNT_LARGE;
        uint64_t allocs = sum->allocs - before[row].allocs;
        uint64_t bytes = sum->alloc_bytes - before[row].alloc_bytes;
        count_add(large ? &stats->malloc_huge : &stats->malloc_normal, bytes,
                  sum->alloc_bytes - sum->free_bytes);
        *(large ? &stats->malloc_huge_count : &stats->malloc_normal_count) += (int64_t)allocs;
        unsigned bin = large ? BINS - 1 : bin_of(class_size(row));
        count_add(&stats->bins[bin], allocs, sum->allocs - sum->frees);
    }
    stats->malloc_requested.total = stats->malloc_normal.total + stats->malloc_huge.total;
    stats->malloc_requested.current = stats->malloc_normal.current + stats->malloc_huge.current;
    stats->malloc_requested.peak = (int64_t)peak.bytes;
}

static void fill(struct stats *stats)
{
    struct account account;
    memset(stats, 0, sizeof *stats);
    if (!init_done())
        return;
    account_take(&account);
    fill_blocks(stats, &account);
    stats->reserved = level(account.mapped_bytes);
    stats->committed = level(account.resident_bytes);
    stats->page_committed =
        level(account.live_bytes + account.cached_bytes + account.fragmented_bytes);
    stats->purged = (int64_t)account.returned_bytes;
    stats->pages = level((uint64_t)stats->page_committed.current / UNIT);
    stats->threads = level(account.heaps);
    stats->arena_count = 1;
    stats->heaps = level(1);
}

/* Threads keep nothing that would have to be merged. */
FUNCTION(void, mi_stats_merge, (void))
{
}

/* The program's structure: the header, the fields, the reserved ones, the bins. */
static bool copy_out(const struct stats *stats, char *to, size_t size)
{
    unsigned release = mimalloc_release() >= 3 ? ONLY3 : BOTH;
    size_t at = 2 * sizeof(size_t),
           tail = (BINS * 2 + RESERVED) * sizeof(struct count) + RESERVED * sizeof(int64_t) +
                  (release == ONLY3 ? CHUNK_BINS : 0) * sizeof(struct count);
    size_t needed = at + tail;
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].since <= release)
            needed += fields[i].is_count ? sizeof(struct count) : sizeof(int64_t);
    if (needed != size)
        return false;
    memset(to + at, 0, size - at);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        size_t bytes = fields[i].is_count ? sizeof(struct count) : sizeof(int64_t);
        if (fields[i].since > release)
            continue;
        memcpy(to + at, (const char *)stats + fields[i].offset, bytes);
        at += bytes;
    }
    at += RESERVED * (sizeof(struct count) + sizeof(int64_t));
    memcpy(to + at, stats->bins, sizeof stats->bins);
    return true;
}

/* `out` begins with its size and version, which the caller has set. */
FUNCTION(bool, mi_stats_get, (size_t * out))
{
    struct stats stats;
    if (out == NULL || out[1] != (mimalloc_release() >= 3 ? VERSION3 : VERSION2))
        return false;
    fill(&stats);
    return copy_out(&stats, (char *)out, out[0]);
}

/* The blocks of one heap; of the first one, those of the process. */
static void fill_heap(struct stats *stats, const struct owner *heap)
{
    const struct owner *owner = mimalloc_owner(heap);
    if (owner == NULL) {
        fill(stats);
        return;
    }
    static const struct lender none;
    const struct lender *lender = region_has_heap(owner) ? region_lender(owner) : &none;
    struct owner_sum sums[CLASS_COUNT];
    memset(stats, 0, sizeof *stats);
    owner_sums(owner, sums);
    for (unsigned class = 0; class < CLASS_COUNT; class ++) {
        bool large = class == 0;
        uint64_t mallocs = sums[class].mallocs + load_relaxed(&lender->allocs[class]);
        uint64_t live = sums[class].live + load_relaxed(&lender->allocs[class]) -
                        load_relaxed(&lender->frees[class]);
        count_add(&stats->malloc_normal, mallocs * class_size(class), live * class_size(class));
        *(large ? &stats->malloc_huge_count : &stats->malloc_normal_count) += (int64_t)mallocs;
        count_add(&stats->bins[large ? BINS - 1 : bin_of(class_size(class))], mallocs, live);
    }
    stats->malloc_huge =
        level(load_relaxed(&owner->large_bytes) + load_relaxed(&lender->large_bytes));
    stats->pages = level(owner->spans);
    stats->malloc_requested = stats->malloc_normal;
    count_add(&stats->malloc_requested, (uint64_t)stats->malloc_huge.total,
              (uint64_t)stats->malloc_huge.current);
}

FUNCTION(bool, mi_heap_stats_get, (const struct owner *heap, size_t *out))
{
    struct stats stats;
    if (heap == NULL || out == NULL || out[1] != VERSION3 || mimalloc_release() < 3)
        return false;
    fill_heap(&stats, heap);
    return copy_out(&stats, (char *)out, out[0]);
}

FUNCTION(size_t, mi_stats_get_bin_size, (size_t bin))
{
    return bin >= BINS ? 0 : bin_size(bin);
}

/* An amount as mimalloc writes it, 12 columns wide: bytes if `unit` is 1, else a number. */
static void amount(struct print *out, int64_t value, bool bytes)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    static const char *const decimal[] = {"", "K", "M", "G", "T"};
    size_t from = print_length(out), unit = 0;
    uint64_t base = bytes ? 1024 : 1000, step = 1, size = (uint64_t)(value < 0 ? -value : value);
    while (unit + 1 < COUNT_OF(binary) && size / step >= base) {
        step *= base;
        unit++;
    }
    if (value < 0)
        print_char(out, '-');
    print_unsigned(out, size / step);
    if (unit == 0)
        print_text(out, "  ");
    else
        print_format(out, ".%d", (int)(size % step * 10 / step));
    print_char(out, ' ');
    size_t suffix = print_length(out);
    print_text(out, unit == 0 && (!bytes || value == 0) ? ""
                    : bytes                             ? binary[unit]
                                                        : decimal[unit]);
    print_left(out, suffix, 3);
    print_right(out, from, 12);
}

/* The beginning of a row. */
static void label(struct print *out, const char *text)
{
    size_t from = print_length(out);
    print_text(out, mimalloc_release() >= 3 ? "  " : "");
    size_t word = print_length(out);
    print_text(out, text);
    if (mimalloc_release() >= 3)
        print_left(out, word, 10);
    else
        print_right(out, from, 10);
    print_char(out, ':');
}

static void count_row(struct print *out, const char *text, const struct count *count, bool bytes)
{
    label(out, text);
    amount(out, count->peak, bytes);
    amount(out, count->total, bytes);
    amount(out, count->current, bytes);
    if (bytes) {
        size_t from = print_length(out);
        print_right(out, from, 26);
        print_text(out, count->current == 0 ? "ok" : "");
    }
    print_char(out, '\n');
}

static void counter_row(struct print *out, const char *text, int64_t value, bool bytes)
{
    label(out, text);
    amount(out, value, bytes);
    print_char(out, '\n');
}

static void header(struct print *out, const char *text)
{
    print_text(out, text);
    print_text(out, "     peak       total     current       block      total#   \n");
}

static void binned_rows(struct print *out, const struct stats *stats)
{
    count_row(out, "binned", &stats->malloc_normal, true);
    count_row(out, "huge", &stats->malloc_huge, true);
    count_row(out, "total", &stats->malloc_requested, true);
}

static void table2(struct print *out, const struct stats *s)
{
    header(out, "heap stats:");
    binned_rows(out, s);
    count_row(out, "reserved", &s->reserved, true);
    count_row(out, "committed", &s->committed, true);
    counter_row(out, "reset", s->reset, true);
    counter_row(out, "purged", s->purged, true);
    count_row(out, "touched", &s->page_committed, true);
    count_row(out, "segments", &s->segments, false);
    count_row(out, "-abandoned", &s->segments_abandoned, false);
    count_row(out, "-cached", &s->segments_cache, false);
    count_row(out, "pages", &s->pages, false);
    count_row(out, "-abandoned", &s->pages_abandoned, false);
    counter_row(out, "-extended", s->pages_extended, false);
    counter_row(out, "-retire", s->pages_retire, false);
    counter_row(out, "arenas", s->arena_count, false);
    counter_row(out, "-rollback", s->arena_rollback_count, false);
    counter_row(out, "mmaps", s->mmap_calls, false);
    counter_row(out, "commits", s->commit_calls, false);
    counter_row(out, "resets", s->reset_calls, false);
    counter_row(out, "purges", s->purge_calls, false);
    counter_row(out, "guarded", s->malloc_guarded_count, false);
    count_row(out, "threads", &s->threads, false);
    label(out, "searches");
    print_text(out, "     0.0 avg\n");
}

static void table3(struct print *out, const struct stats *s)
{
    print_text(out, "subproc 0\n");
    header(out, " blocks     ");
    binned_rows(out, s);
    print_char(out, '\n');
    header(out, " pages      ");
    count_row(out, "touched", &s->page_committed, true);
    count_row(out, "pages", &s->pages, false);
    count_row(out, "abandoned", &s->pages_abandoned, false);
    counter_row(out, "reclaima", s->pages_reclaim_on_alloc, false);
    counter_row(out, "reclaimf", s->pages_reclaim_on_free, false);
    counter_row(out, "reabandon", s->pages_reabandon_full, false);
    counter_row(out, "waits", s->pages_unabandon_busy_wait, false);
    counter_row(out, "extended", s->pages_extended, false);
    counter_row(out, "retire", s->pages_retire, false);
    label(out, "searches");
    print_text(out, "     0.0 avg\n\n");
    header(out, " arenas     ");
    count_row(out, "reserved", &s->reserved, true);
    count_row(out, "committed", &s->committed, true);
    counter_row(out, "reset", s->reset, true);
    counter_row(out, "purged", s->purged, true);
    counter_row(out, "arenas", s->arena_count, false);
    counter_row(out, "rollback", s->arena_rollback_count, false);
    counter_row(out, "mmaps", s->mmap_calls, false);
    counter_row(out, "commits", s->commit_calls, false);
    counter_row(out, "resets", s->reset_calls, false);
    counter_row(out, "purges", s->purge_calls, false);
    counter_row(out, "guarded", s->malloc_guarded_count, false);
    count_row(out, "theaps", &s->theaps, false);
    count_row(out, "heaps", &s->heaps, false);
    counter_row(out, "heap waits", s->heaps_delete_wait, false);
    print_char(out, '\n');
    header(out, " process    ");
    count_row(out, "threads", &s->threads, false);
}

static void seconds(struct print *out, size_t ms)
{
    print_decimal(out, ms, 3);
    print_text(out, " s");
}

/* A size as in the table, without its spaces. */
static void short_amount(struct print *out, uint64_t bytes)
{
    char buffer[32];
    struct print text;
    print_start(&text, buffer, sizeof buffer);
    amount(&text, (int64_t)bytes, true);
    const char *start = print_string(&text);
    start += strspn(start, " ");
    print_bytes(out, start, strlen(start));
}

static void process_rows(struct print *out)
{
    struct mimalloc_process process;
    mimalloc_process(&process);
    label(out, "elapsed");
    print_text(out, "     ");
    seconds(out, process.elapsed_ms);
    print_char(out, '\n');
    label(out, "process");
    print_text(out, " user: ");
    seconds(out, process.user_ms);
    print_text(out, ", system: ");
    seconds(out, process.system_ms);
    print_format(out, ", faults: %zu, peak rss: ", process.faults);
    short_amount(out, process.rss_peak);
    print_text(out, ", peak commit: ");
    short_amount(out, process.commit_peak);
    print_char(out, '\n');
}

void mimalloc_print_process(mimalloc_output *out, void *arg)
{
    char buffer[512];
    struct print text;
    print_start(&text, buffer, sizeof buffer);
    process_rows(&text);
    mimalloc_print(&text, out, arg);
}

static void print_table(const struct stats *stats, mimalloc_output *out, void *arg);

void mimalloc_print_stats(mimalloc_output *out, void *arg)
{
    struct stats stats;
    fill(&stats);
    print_table(&stats, out, arg);
}

FUNCTION(void, mi_heap_stats_print_out, (const struct owner *heap, mimalloc_output *out, void *arg))
{
    struct stats stats;
    if (heap == NULL)
        return;
    fill_heap(&stats, heap);
    print_table(&stats, out, arg);
}

static void print_table(const struct stats *stats, mimalloc_output *out, void *arg)
{
    char *buffer = os_map(TABLE_SIZE); /* threads may have 16 KiB of stack */
    struct print text;
    if (buffer == NULL)
        return;
    print_start(&text, buffer, TABLE_SIZE);
    if (mimalloc_release() >= 3)
        table3(&text, stats);
    else
        table2(&text, stats);
    label(&text, "numa nodes");
    print_format(&text, "     %u\n", (unsigned)pages_nodes);
    process_rows(&text);
    if (mimalloc_release() >= 3)
        print_char(&text, '\n');
    mimalloc_print(&text, out, arg);
    os_unmap(buffer, TABLE_SIZE);
}

static void json_count(struct print *out, const struct count *count, const char *more)
{
    print_format(out, "{ \"total\": %lld, \"peak\": %lld, \"current\": %lld%s",
                 (long long)count->total, (long long)count->peak, (long long)count->current, more);
}

static void json_bins(struct print *out, const char *name, const struct count *bins, size_t number)
{
    print_format(out, ",\n  \"%s\": [", name);
    for (size_t i = 0; i < number; i++) {
        print_text(out, i == 0 ? "\n    " : ",\n    ");
        json_count(out, &bins[i], "");
        if (number == BINS)
            print_format(out, ", \"block_size\": %zu, \"page_size\": %u", bin_size(i), UNIT);
        print_text(out, " }");
    }
    print_text(out, "\n  ]");
}

static void json(struct print *out, const struct stats *stats)
{
    static const BULK_CONSTANT struct count none[BINS];
    unsigned release = mimalloc_release() >= 3 ? ONLY3 : BOTH;
    struct mimalloc_process p;
    mimalloc_process(&p);
    print_format(out, "{\n  \"stat_version\": %d,\n  \"mimalloc_version\": %d,\n",
                 release == ONLY3 ? VERSION3 : VERSION2, mimalloc_version());
    print_format(out,
                 "  \"process\": {\n    \"elapsed_msecs\": %zu,\n    \"user_msecs\": %zu,\n"
                 "    \"system_msecs\": %zu,\n    \"page_faults\": %zu,\n"
                 "    \"rss_current\": %zu,\n    \"rss_peak\": %zu,\n"
                 "    \"commit_current\": %zu,\n    \"commit_peak\": %zu\n  }",
                 p.elapsed_ms, p.user_ms, p.system_ms, p.faults, p.rss, p.rss_peak, p.commit,
                 p.commit_peak);
    const char *name = names;
    for (size_t i = 0; i < COUNT_OF(fields); i++, name += strlen(name) + 1) {
        const void *field = (const char *)stats + fields[i].offset;
        if (fields[i].since > release)
            continue;
        print_format(out, ",\n  \"%s\": ", name);
        if (fields[i].is_count)
            json_count(out, field, " }");
        else
            print_signed(out, *(const int64_t *)field);
    }
    json_bins(out, "malloc_bins", stats->bins, BINS);
    json_bins(out, "page_bins", none, BINS);
    if (release == ONLY3)
        json_bins(out, "chunk_bins", none, CHUNK_BINS);
    print_text(out, "\n}\n");
}

/* Into the buffer, cut if need be; or into a block of its own. */
static char *json_into(const struct stats *stats, size_t size, char *buffer,
                       const struct caller *caller)
{
    struct print out;
    if (buffer == NULL || size == 0) {
        size = JSON_SIZE;
        if ((buffer = libc_malloc(size, caller)) == NULL)
            return NULL;
    }
    print_start(&out, buffer, size);
    json(&out, stats);
    print_string(&out);
    return buffer;
}

FUNCTION(char *, mi_stats_get_json, (size_t size, char *buffer))
{
    struct caller caller = CALLER_HERE;
    struct stats stats;
    fill(&stats);
    return json_into(&stats, size, buffer, &caller);
}

FUNCTION(char *, mi_heap_stats_get_json, (const struct owner *heap, size_t size, char *buffer))
{
    struct caller caller = CALLER_HERE;
    struct stats stats;
    if (heap == NULL)
        return NULL;
    fill_heap(&stats, heap);
    return json_into(&stats, size, buffer, &caller);
}

/* The fields that the program has, as mi_stats_get filled them. */
FUNCTION(char *, mi_stats_as_json, (const size_t *from, size_t size, char *buffer))
{
    struct caller caller = CALLER_HERE;
    struct stats stats;
    size_t at = 2 * sizeof(size_t);
    memset(&stats, 0, sizeof stats);
    if (from == NULL || from[1] != VERSION3 || mimalloc_release() < 3)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        size_t bytes = fields[i].is_count ? sizeof(struct count) : sizeof(int64_t);
        memcpy((char *)&stats + fields[i].offset, (const char *)from + at, bytes);
        at += bytes;
    }
    at += RESERVED * (sizeof(struct count) + sizeof(int64_t));
    memcpy(stats.bins, (const char *)from + at, sizeof stats.bins);
    return json_into(&stats, size, buffer, &caller);
}
