/* SPDX-License-Identifier: MIT */
/*
 * See lib/guard/cells.h. The lock protects the lists and the end of the table; the calls of the
 * kernel are made without it, on a cell that is CELL_BUSY and so no other thread's. Questions about
 * cells are answered by cells_find.c.
 */
#include "lib/guard/cells.h"

#include <string.h>
#include <sys/resource.h>

#include "base/confine.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/guard/margin.h"
#include "lib/guard/region.h"

enum {
    LONG = 17,        /* free cells are in lists by pages of their run; from here on in one */
    LOOK_MAX = 64,    /* cells of that one that are looked at */
    PIECE = 16 << 20, /* of the region, made accessible at once */
    PIECE_YIELDED = 64 << 10, /* the least that is worth a mapping */
    ADDRESSES_SHARE = 4,      /* of a limit of addresses, a fourth is for guarded blocks */
};

struct list {
    uint32_t first, last;
};

struct lock cells_lock = {.rank = LOCK_GUARD};
struct region region = {.count = 1, .pages_used = 1};

static struct cells_limits limits;
static size_t pages_open, cells_open_bytes; /* how far region and table are accessible */
static struct list lists[LONG + 1], quarantine;
static bool markers;                   /* new cells take them (`marked`) */
static uint64_t live_max = UINT64_MAX; /* blocks; where each takes mappings */
static uint64_t live_blocks, live_bytes, freed_bytes, refused;
static bool used_up; /* there was no cell for the last block that needed one, or no memory */

static bool probe_markers(void);
static struct cell *cell_find(uint32_t run);
static struct cell *cell_find_longer(uint32_t run);
static struct cell *long_find(uint32_t run_min, uint32_t run_max);
static struct cell *cell_make(uint32_t run);
static bool pages_access(struct cell *cell, bool open);
static void place(struct cell *cell, size_t size, size_t align);
static void list_add(struct list *list, struct cell *cell);
static struct cell *list_take(struct list *list, struct cell *before);
static uint64_t addresses_allowed(void);
static bool pages_yield(void);
static void quarantine_trim(uint64_t bytes);
static void refuse(const char *why);
static void stop_by_filter(void);
static void put_back(struct cell *cell);

bool cells_init(const struct cells_limits *wanted)
{
    limits = *wanted;
    region.page_size = os_page_size();
    uint64_t addresses = os_limit(RLIMIT_AS);
    region.size = limits.region_bytes;
    while (region.size > addresses / ADDRESSES_SHARE)
        region.size /= 2;
    do {
        region.start = (uintptr_t)os_reserve(region.size);
    } while (region.start == 0 && (region.size /= 4) >= PIECE);
    if (region.start == 0)
        return false;
    region.cells_max = region.size / region.page_size / 2;
    region.cells = os_reserve(region_table_bytes());
    markers = region.cells != NULL && probe_markers();
    if (!markers)
        live_max = os_mappings_max() / 4;
    return region.cells != NULL;
}

bool cells_yield(size_t size)
{
    if (cells_yield_addresses())
        return true;
    if (!load_relaxed(&used_up))
        return false;
    lock_take(&cells_lock);
    bool yields = used_up && freed_bytes > size;
    if (yields)
        quarantine_trim(0);
    yields = (used_up && pages_yield()) || yields;
    used_up = false;
    lock_give(&cells_lock);
    return yields;
}

/* How much of the region may be accessible if the program has lowered its limit of addresses: the
 * kernel does not stop it there, as all of the region is reserved. */
static uint64_t addresses_allowed(void)
{
    return confined(CONFINE_GROW) ? UINT64_MAX : os_limit(RLIMIT_AS) / ADDRESSES_SHARE;
}

/* What is in use stays, and a quarter of the limit. */
bool cells_yield_addresses(void)
{
    static const char said[] =
        "memoir: guard: the program lowered its limit of addresses (RLIMIT_AS), so fewer are kept "
        "for guarded blocks; set the limit before the program starts (ulimit -v)\n";
    uint64_t addresses =
        region.start == 0 || confined(CONFINE_GROW) ? UINT64_MAX : os_limit(RLIMIT_AS);
    if (addresses / ADDRESSES_SHARE >= region.size)
        return false;
    lock_take(&cells_lock);
    size_t used = (size_t)region.pages_used * region.page_size, before = region.size,
           table = region_table_bytes();
    used = used > pages_open ? used : pages_open;
    used = used > addresses / ADDRESSES_SHARE ? used : addresses / ADDRESSES_SHARE;
    size_t kept = (used + PIECE - 1) & ~(size_t)(PIECE - 1);
    bool yields = kept < before;
    if (yields) {
        store_release(&region.size, kept);
        region.cells_max = kept / region.page_size / 2;
        if (limits.quarantine_bytes > kept / 2)
            limits.quarantine_bytes = kept / 2;
        size_t left =
            region_table_bytes() > cells_open_bytes ? region_table_bytes() : cells_open_bytes;
        os_unmap((char *)region.start + kept, before - kept);
        os_unmap((char *)region.cells + left, table - left);
    }
    lock_give(&cells_lock);
    if (yields)
        message_write(said, sizeof said - 1);
    return yields;
}

/* Whether the kernel has guards that take no mapping; asked on the first page, which is one. */
static bool probe_markers(void)
{
    return os_access((void *)region.start, region.page_size, true) &&
           os_guard((void *)region.start, region.page_size, true);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + region.page_size - 1) / region.page_size;
}

static struct list *list_of(uint32_t run)
{
    return &lists[run < LONG ? run : LONG];
}

struct cell *cells_take(size_t size, size_t align)
{
    size_t pages = whole_pages(size),
           extra = align > region.page_size ? align / region.page_size : 0;
    if (pages == 0 && align > region.page_size)
        pages = 1;
    if (size > limits.region_bytes) /* no memory has room for that */
        return NULL;
    if (region.cells == NULL || size > region.size || align > region.size ||
        load_relaxed(&live_bytes) + pages * region.page_size > limits.live_bytes) {
        refuse("they take more than the option guard.memory, or all addresses");
        return NULL;
    }
    if (confined(CONFINE_PAGES)) {
        stop_by_filter();
        return NULL;
    }
    if (arena_limited(pages * region.page_size)) {
        refuse("they take more than the option limit");
        return NULL;
    }
    if (load_relaxed(&live_blocks) >= live_max) {
        refuse("each takes two mappings on this kernel, and a quarter of vm.max_map_count blocks "
               "have them");
        return NULL;
    }
    lock_take(&cells_lock);
    struct cell *cell = cell_find((uint32_t)(pages + extra));
    if (cell == NULL)
        cell = cell_make((uint32_t)(pages + extra));
    if (cell == NULL)
        cell = cell_find_longer((uint32_t)(pages + extra));
    used_up = cell == NULL;
    lock_give(&cells_lock);
    if (cell == NULL) {
        refuse("the system gives no more memory or addresses for them");
        return NULL;
    }
    cell->pages = (uint32_t)pages;
    place(cell, size, align);
    if (pages > 0 && !pages_access(cell, true)) {
        put_back(cell);
        refuse("the system gives no more memory or mappings for them");
        return NULL;
    }
    uint8_t *first = (uint8_t *)region_page(cell->data), *end = first + pages * region.page_size;
    uint8_t *block = (uint8_t *)cell->start;
    if (pages > 0) {
        margin_fill(first, block);
        margin_fill(block + size, end);
    }
    cell->opened = false;
    cell->recorded = false;
    cell->owner = NULL;
    return cell;
}

/* Where the block begins. One without a byte has an address in the guard page behind the run. */
static void place(struct cell *cell, size_t size, size_t align)
{
    uintptr_t end = region_page(cell->page + cell->run);
    cell->size = size;
    if (align > region.page_size) {
        cell->start = (region_page(cell->page) + align - 1) & ~(align - 1);
        cell->data = (uint32_t)((cell->start - region.start) / region.page_size);
        return;
    }
    cell->data = cell->page + cell->run - cell->pages;
    if (cell->pages == 0) {
        cell->start = end;
        return;
    }
    /* An object that needs an alignment is a multiple of it long: smaller blocks need less. */
    size_t natural = limits.tight ? 1 : GRANULE;
    while (natural > size)
        natural /= 2;
    align = align < natural ? natural : align;
    cell->start = limits.front ? region_page(cell->data) : (end - size) & ~(align - 1);
}

void cells_begin(struct cell *cell)
{
    __atomic_fetch_add(&live_blocks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&live_bytes, cell->pages * region.page_size, __ATOMIC_RELAXED);
    arena_beside((ptrdiff_t)(cell->pages * region.page_size));
    store_release(&cell->state, CELL_LIVE);
}

bool cells_claim(struct cell *cell)
{
    uint8_t live = CELL_LIVE;
    return __atomic_compare_exchange_n(&cell->state, &live, CELL_BUSY, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

void cells_give(struct cell *cell)
{
    if (cell->pages > 0)
        pages_access(cell, false);
    __atomic_fetch_sub(&live_blocks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&live_bytes, cell->pages * region.page_size, __ATOMIC_RELAXED);
    arena_beside(-(ptrdiff_t)(cell->pages * region.page_size));
    lock_take(&cells_lock);
    list_add(&quarantine, cell);
    freed_bytes += (size_t)cell->run * region.page_size + region.page_size;
    store_release(&cell->state, CELL_FREED);
    quarantine_trim(limits.quarantine_bytes);
    lock_give(&cells_lock);
}

/* The oldest blocks leave the quarantine until `bytes` are left: their addresses may be used
 * again. */
static void quarantine_trim(uint64_t bytes)
{
    while (freed_bytes > bytes && quarantine.first != 0) {
        struct cell *cell = list_take(&quarantine, NULL);
        freed_bytes -= (size_t)cell->run * region.page_size + region.page_size;
        store_release(&cell->state, CELL_FREE);
        list_add(list_of(cell->run), cell);
    }
}

/* A limit of writable memory (RLIMIT_DATA) counts guards and freed pages too. Neighbours that are
 * free stop being writable, so that blocks of other sizes have room elsewhere. Under the lock. */
static bool pages_yield(void)
{
    bool yields = false;
    if (!markers || confined(CONFINE_GROW) || os_limit(RLIMIT_DATA) == UINT64_MAX)
        return false;
    for (uint32_t i = 1, end; i < region.count; i = end + 1) {
        for (end = i; end < region.count && region.cells[end].state == CELL_FREE &&
                      !region.cells[end].sealed;)
            end++;
        uint32_t from = region.cells[i].page,
                 to = end < region.count ? region.cells[end].page : region.pages_used;
        if (end == i || (to - from) * region.page_size < PIECE_YIELDED ||
            !os_access((void *)region_page(from), (to - from) * region.page_size, false))
            continue;
        yields = true;
        for (; i < end; i++)
            region.cells[i].sealed = true;
    }
    return yields;
}

/* The pages of the cell's block, and what is in them. Opened ones read as zero. */
static bool pages_access(struct cell *cell, bool open)
{
    void *at = (void *)region_page(cell->data);
    size_t size = cell->pages * region.page_size;
    if (open && !cell->marked)
        return os_access(at, size, true);
    if (open) { /* a sealed run as a whole: the next block may have more of its pages */
        if (cell->sealed &&
            !os_access((void *)region_page(cell->page), cell->run * region.page_size, true))
            return false;
        cell->sealed = false;
        return os_guard(at, size, false);
    }
    if (cell->marked && os_guard(at, size, true))
        return true;
    if (!os_return(at, size)) /* locked memory stays */
        memset(at, 0, size);
    cell->sealed = os_access(at, size, false);
    return cell->sealed;
}

static void put_back(struct cell *cell)
{
    lock_take(&cells_lock);
    store_release(&cell->state, CELL_FREE);
    list_add(list_of(cell->run), cell);
    used_up = true;
    lock_give(&cells_lock);
}

/* ---- lists and the table, under the lock -------------------------------------------------- */

static void list_add(struct list *list, struct cell *cell)
{
    uint32_t number = (uint32_t)(cell - region.cells);
    cell->next = 0;
    if (list->last == 0)
        list->first = number;
    else
        region.cells[list->last].next = number;
    list->last = number;
}

/* Takes the cell behind `before`, or the first. */
static struct cell *list_take(struct list *list, struct cell *before)
{
    uint32_t *link = before == NULL ? &list->first : &before->next;
    struct cell *cell = cells_at(*link);
    if (cell == NULL)
        return NULL;
    store_relaxed(&cell->state, CELL_BUSY);
    if (cell->next == 0)
        list->last = before == NULL ? 0 : (uint32_t)(before - region.cells);
    *link = cell->next;
    return cell;
}

static struct cell *cell_find(uint32_t run)
{
    return run < LONG ? list_take(list_of(run), NULL) : long_find(run, run * 2 + 1);
}

static struct cell *long_find(uint32_t run_min, uint32_t run_max)
{
    struct cell *before = NULL, *cell = cells_at(lists[LONG].first);
    for (unsigned i = 0; cell != NULL && i < LOOK_MAX; i++) {
        if (cell->run >= run_min && cell->run <= run_max)
            return list_take(&lists[LONG], before);
        before = cell;
        cell = cells_at(cell->next);
    }
    return NULL;
}

/* Where no more cells can be made. */
static struct cell *cell_find_longer(uint32_t run)
{
    for (uint32_t longer = run + 1; longer < LONG; longer++)
        if (lists[longer].first != 0)
            return list_take(&lists[longer], NULL);
    return long_find(run, UINT32_MAX);
}

/* Makes the next `bytes` of the table accessible. */
static bool table_reach(size_t bytes)
{
    if (bytes <= cells_open_bytes)
        return true;
    if (bytes > region.cells_max * sizeof *region.cells ||
        !os_access((char *)region.cells + cells_open_bytes, REGION_TABLE_PIECE, true))
        return false;
    cells_open_bytes += REGION_TABLE_PIECE;
    return bytes <= cells_open_bytes;
}

/* And the region for a run and its guard: all of it guards at first. Locked memory takes no
 * markers, as the first page then shows: what follows is closed by mappings. */
static bool region_reach(uint32_t run)
{
    size_t bytes = ((size_t)region.pages_used + run + 1) * region.page_size, size = PIECE;
    if (!markers || bytes <= pages_open)
        return bytes <= region.size;
    while (pages_open + size < bytes)
        size += PIECE;
    if (pages_open + size > region.size)
        size = region.size - pages_open;
    char *at = (char *)region.start + pages_open;
    if (pages_open + size < bytes || pages_open + size > addresses_allowed() ||
        !os_access(at, size, true))
        return false;
    if (!os_guard(at, size, true)) {
        os_access(at, size, false);
        markers = probe_markers();
        if (markers)
            return false;
        region.pages_used =
            pages_open == 0 ? region.pages_used : (uint32_t)(pages_open / region.page_size);
        live_max = os_mappings_max() / 4;
        return region_reach(run);
    }
    pages_open += size;
    return true;
}

static struct cell *cell_make(uint32_t run)
{
    if ((size_t)region.pages_used + run + 1 > region.size / region.page_size ||
        !table_reach(((size_t)region.count + 1) * sizeof *region.cells) || !region_reach(run))
        return NULL;
    struct cell *cell = &region.cells[region.count];
    cell->page = region.pages_used;
    cell->marked = markers;
    cell->run = run;
    store_relaxed(&cell->state, CELL_BUSY);
    region.pages_used += run + 1;
    store_release(&region.count, region.count + 1);
    return cell;
}

struct cells_sums cells_sums(void)
{
    return (struct cells_sums){load_relaxed(&live_blocks), load_relaxed(&live_bytes),
                               load_relaxed(&freed_bytes)};
}

/* ---- after fork and after jumps ----------------------------------------------------------- */

/* The lists from the states. A cell that is CELL_BUSY belongs to a thread, or to none any more. */
static void rebuild(void)
{
    memset(lists, 0, sizeof lists);
    quarantine = (struct list){0};
    freed_bytes = 0;
    for (uint32_t i = 1; i < region.count; i++) {
        struct cell *cell = &region.cells[i];
        if (cell->state == CELL_FREE) {
            list_add(list_of(cell->run), cell);
        } else if (cell->state == CELL_FREED) {
            list_add(&quarantine, cell);
            freed_bytes += (size_t)cell->run * region.page_size + region.page_size;
        }
    }
}

void cells_recover(uint32_t parent_id)
{
    if (lock_break(&cells_lock, parent_id))
        rebuild();
}

void cells_abandoned(void)
{
    if (!lock_is_own(&cells_lock))
        return;
    rebuild();
    lock_give(&cells_lock);
}

static void stop_by_filter(void)
{
    static const char said[] =
        "memoir: guard: no further block is guarded: the program sets a seccomp filter that would "
        "end it at mprotect, which guarded blocks need (docs/CONTROL.md)\n";
    static bool told;
    if (!limits.silent && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        message_write(said, sizeof said - 1);
}

/* Counts, and says so once. */
static void refuse(const char *why)
{
    char buffer[320];
    struct print line;
    if (__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED) != 0 || limits.silent)
        return;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line,
                 "memoir: guard: new blocks are no longer guarded: %s (%lu blocks are live). They "
                 "are when others have been freed; see guard.memory in memoir options\n",
                 why, (unsigned long)load_relaxed(&live_blocks));
    message_flush(&line);
}
