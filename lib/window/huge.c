/* SPDX-License-Identifier: MIT */
/*
 * See lib/window/huge.h. Pieces that were advised are remembered in a sorted table, so that the
 * advice can be withdrawn for the part in which memory goes back to the kernel: `piece_cut`.
 */
#include "lib/window/huge.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/os.h"
#include "lib/window/harden.h"

enum {
    HUGE_BYTES = 2 << 20, /* on x86-64, and on aarch64 with pages of 4 KiB */
    AUTO_FROM = 64 << 20, /* bytes of the window; below, all is on small pages */
    PROBE_SHARE = 8,      /* one in this many bytes of a piece, from its start */
    SAMPLES = 64,         /* pages of a probe that are looked at, */
    DENSE_SHARE = 8,      /* of which less than one in this many is untouched if it is dense */
    PIECES_MAX = 4096,    /* with a probe; each costs the process two mappings, of 65,530 */
    CUTS_MAX = 1000,      /* and so may each of these */
};

/* In the automatic mode, a range that is not kept on small pages: all others are. */
struct piece {
    uintptr_t start, end;
    bool advised;  /* to be huge; else the kernel's own setting holds */
    bool given_up; /* it is kept on small pages after all */
};

BULK static struct piece pieces[PIECES_MAX]; /* in the order of their addresses */
static size_t piece_count;
static size_t cuts; /* calls that took advice back from part of a piece */
static char *probe; /* the last one */
static size_t probe_bytes;

static void opened_auto(char *at, size_t bytes, size_t open, bool for_one);
static void piece_add(uintptr_t start, uintptr_t end, bool advised);
static bool probe_is_dense(void);
static bool page_is_written(const char *page);

void huge_opened(char *at, size_t bytes, size_t open, bool for_one)
{
    if (harden_on) /* pages that can't be touched are everywhere, in its probes too */
        os_huge(at, bytes, false);
    else if (config.thp == CONFIG_THP_AUTO)
        opened_auto(at, bytes, open, for_one);
    else
        os_huge(at, bytes, config.thp == CONFIG_THP_ON);
}

static void opened_auto(char *at, size_t bytes, size_t open, bool for_one)
{
    if (open < AUTO_FROM) {
        os_huge(at, bytes, false);
        probe = at;
        probe_bytes = bytes;
        return;
    }
    uintptr_t start = (uintptr_t)at, end = start + bytes;
    uintptr_t first = (start + bytes / PROBE_SHARE + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
    if (for_one || first >= end || piece_count == PIECES_MAX) {
        piece_add(start, end, false);
        return;
    }
    bool dense = probe_is_dense();
    probe = at;
    probe_bytes = first - start;
    os_huge(at, probe_bytes, false);
    piece_add(first, end, dense);
    if (dense)
        os_huge((void *)first, end - first, true);
}

static void piece_add(uintptr_t start, uintptr_t end, bool advised)
{
    size_t count = piece_count;
    if (count == PIECES_MAX || start >= end)
        return;
    pieces[count] = (struct piece){start, end, advised, false};
    store_release(&piece_count, count + 1);
}

/* Not mincore, which would tell it in one call: a filter may end the program for that. The pages
 * are not equally far apart, as all would be the first page of a block in some heaps. */
static bool probe_is_dense(void)
{
    enum { SHIFT = 37 };
    size_t page = os_page_size(), step = probe_bytes / page / SAMPLES; /* pages */
    unsigned written = 0;
    for (size_t i = 0; step > 0 && i < SAMPLES; i++)
        written += page_is_written(probe + (i * step + i * SHIFT % step) * page);
    return written > SAMPLES - SAMPLES / DENSE_SHARE;
}

/* Fresh memory reads as zero. A page of zeros that was written all the same counts as untouched,
 * which costs huge pages and nothing else. */
static bool page_is_written(const char *page)
{
    enum { WORDS = 16, STRIDE = 244 }; /* unlike any block's size, so that all fields are seen */
    for (size_t i = 0; i < WORDS; i++)
        if (os_word_is_set((const uint32_t *)(page + i * STRIDE)))
            return true;
    return false;
}

/* The first piece that ends beyond the address; or how many there are. */
static size_t piece_find(uintptr_t at, size_t count)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (pieces[middle].end > at)
            count = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Takes the advice back from the huge pages that [start, end) has a part of; after many such calls
 * from the whole piece, so that the kernel need not keep more mappings than it may. */
static void piece_cut(struct piece *piece, uintptr_t start, uintptr_t end)
{
    start &= ~(uintptr_t)(HUGE_BYTES - 1);
    end = (end + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
    if (__atomic_fetch_add(&cuts, 1, __ATOMIC_RELAXED) >= CUTS_MAX) {
        store_relaxed(&piece->given_up, true);
        start = piece->start;
        end = piece->end;
    }
    start = start > piece->start ? start : piece->start;
    end = end < piece->end ? end : piece->end;
    os_huge((void *)start, end - start, false);
}

void huge_leave(const void *at, size_t bytes)
{
    size_t count = load_acquire(&piece_count);
    if (count == 0)
        return;
    uintptr_t start = (uintptr_t)at, end = start + bytes;
    for (size_t i = piece_find(start, count); i < count && pieces[i].start < end; i++)
        if (pieces[i].advised && !load_relaxed(&pieces[i].given_up))
            piece_cut(&pieces[i], start, end);
}

void huge_renewed(void *at, size_t bytes)
{
    uintptr_t start = (uintptr_t)at, end = start + bytes;
    if (config.thp != CONFIG_THP_AUTO) {
        os_huge(at, bytes, config.thp == CONFIG_THP_ON);
        return;
    }
    huge_leave(at, bytes);
    size_t count = load_acquire(&piece_count);
    for (size_t i = piece_find(start, count); start < end; i++) {
        /* Small pages up to the next piece that is left to the kernel. */
        while (i < count && pieces[i].advised)
            i++;
        uintptr_t next = i < count && pieces[i].start < end ? pieces[i].start : end;
        if (start < next)
            os_huge((void *)start, next - start, false);
        start = next < end ? pieces[i].end : end;
    }
}

void huge_notes(void (*each)(void *context, const void *start, size_t bytes), void *context)
{
    each(context, pieces, sizeof pieces);
    each(context, &probe, sizeof probe);
}
