/* SPDX-License-Identifier: MIT */
/* See lib/window/harden.h: the pages that can't be touched. */
#include "lib/window/harden.h"

#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/window/arena.h"
#include "lib/window/seal.h"

enum {
    POPULATED_MAX = 64 << 10, /* bytes; the program may never touch all of a longer run */
    MARKED_MAX = 1 << 28, /* bytes; markers of more would take too much memory of the kernel's */
};

bool harden_on;
size_t harden_tail;
uint32_t harden_units;

uint64_t harden_secret, harden_fill;
static bool markers;        /* the kernel closes pages without mappings of their own */
static uint64_t sealed_max; /* how many ranges may be closed by mappings of their own */

void harden_init(void)
{
    if (!config.harden)
        return;
    size_t page = os_page_size();
    char *probe = os_map(page);
    markers = probe != NULL && os_guard(probe, page, true);
    if (probe != NULL)
        os_unmap(probe, page);
    sealed_max = os_mappings_max() / 4;
    harden_secret = os_random();
    /* Eight times one byte: neither 0, which ends strings, nor a letter. */
    harden_fill = (os_random() % 0x7f | 0x80) * UINT64_C(0x0101010101010101);
    harden_tail = HARDEN_TAIL;
    harden_units = (uint32_t)(page > UNIT ? page >> UNIT_SHIFT : 1);
    harden_on = true;
}

uint64_t harden_seed(void)
{
    return os_random() | 1;
}

/* Whole kernel pages only; the rest of a page that another run has a part of stays as it is. */
static bool whole_pages(void *at, size_t bytes, uintptr_t *from, size_t *length)
{
    uintptr_t page = os_page_size(), end = ((uintptr_t)at + bytes) & ~(page - 1);
    *from = ((uintptr_t)at + page - 1) & ~(page - 1);
    *length = *from < end ? end - *from : 0;
    return *length != 0;
}

static bool unseal(void *pages, size_t length)
{
    uint32_t first = unit_of(pages), units = (uint32_t)(length >> UNIT_SHIFT);
    if (!seal_any(first, units))
        return true;
    if (!os_access(pages, length, true))
        return false;
    seal_note(first, units, false);
    return true;
}

/* Noted whatever the kernel says, and before: it may have closed a part, and in a child of fork a
 * thread may be gone that had come as far as here. */
static void seal(void *pages, size_t length)
{
    uint32_t first = unit_of(pages), units = (uint32_t)(length >> UNIT_SHIFT);
    if (seal_ranges() >= sealed_max || !seal_prepare(first, units))
        return;
    seal_note(first, units, true);
    os_access(pages, length, false);
}

/* The kernel takes no locked pages back, nor marks them. A part of the range may be closed already,
 * such as the page behind a run. */
static void wipe_locked(void *pages, size_t length)
{
    bool open = !markers || os_guard(pages, length, false);
    if (unseal(pages, length) && open)
        memset(pages, 0, length);
}

bool harden_close(void *at, size_t bytes)
{
    uintptr_t from;
    size_t length;
    if (!whole_pages(at, bytes, &from, &length))
        return false;
    void *pages = (void *)from;
    if (markers && length <= MARKED_MAX && os_guard(pages, length, true))
        return length == bytes;
    if (!os_return(pages, length))
        wipe_locked(pages, length);
    seal(pages, length);
    return false;
}

bool harden_open(void *at, size_t bytes)
{
    uintptr_t from;
    size_t length;
    if (!whole_pages(at, bytes, &from, &length))
        return true;
    if (!unseal((void *)from, length))
        return false;
    if (markers && !os_guard((void *)from, length, false))
        return false;
    if (length <= POPULATED_MAX) /* what is to be used now: a call, instead of a fault a page */
        os_populate((void *)from, length);
    return true;
}

void harden_claimed(void *at, size_t bytes)
{
    if (markers)
        harden_close(at, bytes);
}

void harden_fence(void *at, size_t bytes, bool marked)
{
    if (!markers || !marked)
        harden_close(at, bytes);
}
