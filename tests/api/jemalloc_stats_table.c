/* SPDX-License-Identifier: MIT */ /* static-too */
/* The table of malloc_stats_print has jemalloc's headings and columns, so that scripts that cut its
 * lines by position find their numbers; classes without blocks have a line of dashes together. */
#include <stdbool.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"
#include "tests/api/stats_text.h"

enum { SIZE_END = 20, INDEX_END = 24, ALLOCATED_END = 37, ALLOCS_END = 50, CURREGS_END = 124 };
enum { BLOCKS = 100, SIZE = 8192 };

/* The number that ends in this column of a line; UINT64_MAX: none does. */
static uint64_t number_ending(const char *line, size_t column)
{
    if (strcspn(line, "\n") < column || line[column - 1] < '0' || line[column - 1] > '9')
        return UINT64_MAX;
    size_t from = column;
    while (from > 0 && line[from - 1] >= '0' && line[from - 1] <= '9')
        from--;
    return strtoull(line + from, NULL, 10);
}

static const char *line_of_size(const char *at, uint64_t size)
{
    while (at != NULL && number_ending(at, SIZE_END) != size)
        at = (at = strchr(at, '\n')) == NULL ? NULL : at + 1;
    return at;
}

static void bins_stand_in_their_columns(void)
{
    static void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(SIZE);
    const char *line = line_of_size(strstr(stats_text("al"), "\nbins:"), SIZE);
    CHECK(line == NULL); /* a: no arena by itself, and there is no second one to merge it with */
    line = line_of_size(strstr(stats_text(""), "\nbins:"), SIZE);
    if (CHECK(line != NULL)) {
        uint64_t live = number_ending(line, CURREGS_END);
        CHECK_AT(live >= BLOCKS && live < 2 * BLOCKS, "%lu", (unsigned long)live);
        CHECK_EQ(number_ending(line, ALLOCATED_END), live * SIZE);
        CHECK(number_ending(line, ALLOCS_END) >= live);
        CHECK(number_ending(line, INDEX_END) < 100);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

int main(void)
{
    if (malloc_stats_print == NULL)
        return 77;
    static const char *const lines[] = {
        "\nuptime: ",
        "\ndss allocation precedence: \"",
        "\ndecaying:  time       npages       sweeps     madvises       purged\n   dirty:",
        "\n   muzzy:",
        "\n                           n_lock_ops (#/sec)       n_waiting (#/sec)      n_spin_acq"
        " (#/sec)  n_owner_switch (#/sec)   total_wait_ns   (#/sec)     max_wait_ns  max_n_thds\n"
        "background_thread    ",
        "max_n_thds\nlarge                ",
        "\n                            allocated         nmalloc   (#/sec)         ndalloc"
        "   (#/sec)       nrequests   (#/sec)           nfill   (#/sec)          nflush"
        "   (#/sec)\n",
        "\nbins:           size ind    allocated      nmalloc (#/sec)      ndalloc (#/sec)"
        "    nrequests   (#/sec)  nshards      curregs     curslabs  nonfull_slabs regs pgs   util"
        "       nfills (#/sec)     nflushes (#/sec)       nslabs     nreslabs (#/sec)"
        "      n_lock_ops (#/sec)",
        "\nlarge:          size ind    allocated      nmalloc (#/sec)      ndalloc (#/sec)"
        "    nrequests (#/sec)  curlextents\n",
        "\nextents:        size ind       ndirty        dirty       nmuzzy        muzzy"
        "    nretained     retained       ntotal        total\n",
        "\n                     ---\n",
        "\ntcache_bytes:        ",
        "opt.dirty_decay_ms: ",
        " (arenas.dirty_decay_ms: ",
    };
    free(opaque_ptr(malloc(100)));
    const char *all = stats_text("");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        CHECK_AT(strstr(all, lines[i]) != NULL, "%s", lines[i]);
    const char *without = stats_text("x");
    CHECK(strstr(without, "n_lock_ops") == NULL && strstr(without, "nonfull_slabs") != NULL);
    without = stats_text("e");
    CHECK(strstr(without, "\nextents: ") == NULL && strstr(without, "\nbins:") != NULL);
    bins_stand_in_their_columns();
    return check_result();
}
