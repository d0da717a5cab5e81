/* SPDX-License-Identifier: MIT */
/* The option thp: what the kernel is told about pieces of the window, by its own account. The
 * pieces are mappings of the test, the state that of the automatic mode. */
#include "lib/window/huge.h"

#include "base/config.h"
#include "base/os.h"
#include "tests/programs/mappings.h"
#include "tests/unit/unit.h"

enum { HUGE_BYTES = 2 << 20, PIECE = 32 << 20, PROBE = PIECE / 8 };
static const size_t LARGE = (size_t)100 << 20; /* bytes that are open */

/* Pieces come in the order of their addresses: all from one mapping. */
static char *next_piece(void)
{
    static char *next;
    if (next == NULL) {
        char *start = os_map((size_t)20 * PIECE);
        assert(start != NULL);
        next = (char *)(((uintptr_t)start + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
    }
    next += PIECE;
    return next - PIECE;
}

static size_t told(const char *at, size_t bytes, const char *flag)
{
    return mappings_with((uintptr_t)at, (uintptr_t)at + bytes, flag);
}

static char *opened(size_t open, bool for_one)
{
    char *at = next_piece();
    huge_opened(at, PIECE, open, for_one);
    return at;
}

static void on_and_off_are_for_all(void)
{
    config.thp = CONFIG_THP_ON;
    char *at = opened(0, false);
    assert(told(at, PIECE, "hg") == PIECE);
    huge_leave(at, PIECE);
    assert(told(at, PIECE, "hg") == PIECE);
    config.thp = CONFIG_THP_OFF;
    assert(told(opened(LARGE, false), PIECE, "nh") == PIECE);
    config.thp = CONFIG_THP_AUTO;
}

static char *dense_piece(void)
{
    memset(opened(PIECE, false), 1, PIECE); /* the probe is all of it */
    return opened(LARGE, false);
}

static void a_small_heap_has_small_pages(void)
{
    char *at = opened(PIECE, false);
    memset(at, 1, PIECE);
    assert(told(at, PIECE, "nh") == PIECE);
    at = opened(2 * (size_t)PIECE - 1, false);
    assert(told(at, PIECE, "nh") == PIECE);
}

static void dense_memory_is_advised(void)
{
    char *at = dense_piece();
    assert(told(at, PROBE, "nh") == PROBE && told(at, PIECE, "hg") == PIECE - PROBE);
    memset(at, 1, PROBE - PROBE / 16); /* nearly all of the probe */
    char *after = opened(LARGE, false);
    assert(told(after, PIECE, "hg") == PIECE - PROBE);
    char *large = opened(LARGE, true);
    assert(told(large, PIECE, "hg") == 0 && told(large, PIECE, "nh") == 0);
    memset(after, 1, PROBE / 2);
    after = opened(LARGE, false);
    assert(told(after, PIECE, "hg") == 0 && told(after, PIECE, "nh") == PROBE);
    memset(after, 1, PROBE); /* and dense again */
    assert(told(opened(LARGE, false), PIECE, "hg") == PIECE - PROBE);
}

static void holes_are_not_advised(void)
{
    char *at = dense_piece();
    char *hole = at + PROBE + 3 * HUGE_BYTES + 4096;
    huge_leave(hole, 4096);
    assert(told(at, PIECE, "hg") == PIECE - PROBE - HUGE_BYTES);
    assert(told(at + PROBE + 3 * HUGE_BYTES, HUGE_BYTES, "nh") == HUGE_BYTES);
    huge_leave(hole + HUGE_BYTES, HUGE_BYTES); /* parts of two */
    assert(told(at, PIECE, "hg") == PIECE - PROBE - 3 * HUGE_BYTES);
    huge_leave(at, PROBE + 1); /* from before the advised part */
    assert(told(at, PIECE, "hg") == PIECE - PROBE - 4 * HUGE_BYTES);
    huge_leave(at + PIECE, 4096); /* behind it */
    assert(told(at, PIECE, "hg") == PIECE - PROBE - 4 * HUGE_BYTES);
}

/* A process may have some 65,000 mappings, and each hole costs two. */
static void many_holes_end_all_advice(void)
{
    char *at = dense_piece();
    for (unsigned i = 0; i < 1100; i++)
        huge_leave(at + PROBE, 4096);
    assert(told(at, PIECE, "hg") == 0 && told(at, PIECE, "nh") == PIECE);
}

int main(void)
{
    unit_start();
    char *probe = os_map(HUGE_BYTES);
    os_huge(probe, HUGE_BYTES, true);
    if (told(probe, HUGE_BYTES, "hg") != HUGE_BYTES) {
        puts("skipped: the kernel has no huge pages, or does not show its flags");
        return 77;
    }
    on_and_off_are_for_all();
    a_small_heap_has_small_pages();
    dense_memory_is_advised();
    holes_are_not_advised();
    many_holes_end_all_advice();
    return 0;
}
