/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/capture/recorder_numbers.h. The process was cut off anywhere: what was counted
 * in one place and not yet in the other is made to fit, so that nothing is below zero, nothing that
 * was recorded is missing in a sum, and no moment is above the peak.
 */
#include "tool/profile/capture/recorder_numbers.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"

enum { LARGE = RECORDER_CLASSES - 1, STACK_OTHER = 1, THREAD_OTHER = UINT32_MAX };
/* No counter is larger, and no sum: a capture with more is refused (capture_records.c). */
static const uint64_t COUNT_MAX = UINT64_C(1) << 55;

struct making {
    const struct recorder_sheets *sheets;
    struct recorder_numbers *numbers;
    const struct recorder_peak *peak;
    uint64_t peak_bytes;              /* of the sites, times their weights */
    uint8_t class_of[RECORDER_MARKS]; /* the class of a mark's blocks; 0: it has none */
};

static void peak_now(struct making *making);
static void recorded_add(struct making *making);
static bool all_recorded(const struct making *making);
static void totals_make(struct making *making);
static void sum_count(struct capture_sum *to, const struct capture_count *count);
static void asked_make(struct recorder_numbers *numbers);
static uint64_t less(uint64_t all, uint64_t part);
static uint64_t min(uint64_t a, uint64_t b);
static unsigned class_at(const struct making *making, uint64_t size);
static uint64_t max(uint64_t a, uint64_t b);
static void add(uint64_t *sum, uint64_t more);
static void classes_make(struct making *making);
static void count_add(struct making *making, const struct recorder_heap *heap);
static uint64_t bytes_of(uint64_t blocks, uint64_t size);
static void live_make(struct capture_count *allocated, struct capture_count *live);
static bool rows_make(struct making *making);
static bool site_read(const struct recorder_sheets *sheets, uint32_t id,
                      struct recorder_site *site);
static bool row_make(const struct recorder_sheets *sheets, const struct recorder_site *site,
                     struct capture_row *row);
static struct capture_sum sum_of(const struct recorder_sum *sum);
static struct capture_sum sum_min(struct capture_sum a, const struct capture_sum *b);
static double weight_of(const struct capture_row *row);
static int row_order(const void *left, const void *right);

/* ---- counters and sites, made to fit each other ---- */

bool recorder_numbers_make(struct recorder_numbers *numbers, const struct recorder_sheets *sheets)
{
    struct making making = {.sheets = sheets,
                            .numbers = numbers,
                            .peak = &sheets->head.peaks[sheets->head.peak_now & 1]};
    *numbers = (struct recorder_numbers){0};
    if (!rows_make(&making))
        return false;
    classes_make(&making);
    recorded_add(&making);
    peak_now(&making);
    totals_make(&making);
    return true;
}

/* The last moment may be the peak before any thread has noted it. */
static void peak_now(struct making *making)
{
    struct recorder_numbers *numbers = making->numbers;
    uint64_t live = 0;
    numbers->totals.peak_ms = making->peak->time_ms;
    for (unsigned i = 1; i <= LARGE; i++)
        live += numbers->classes[i].live.bytes;
    if (live <= making->peak_bytes)
        return;
    numbers->totals.peak_ms = making->sheets->head.last_ms;
    for (unsigned i = 1; i <= LARGE; i++)
        numbers->classes[i].peak = numbers->classes[i].live;
    for (size_t i = 0; i < numbers->row_count; i++)
        numbers->rows[i].peak = numbers->rows[i].live;
}

/* What was recorded is there, whether its thread had counted it or not. */
static void recorded_add(struct making *making)
{
    struct capture_count seen[RECORDER_CLASSES][3] = {{{0, 0}}};
    double peak = 0;
    struct capture_totals *totals = &making->numbers->totals;
    for (size_t i = 0; i < making->numbers->row_count; i++) {
        const struct capture_row *row = &making->numbers->rows[i];
        const struct capture_sum *sums[] = {&row->allocated, &row->live, &row->peak};
        unsigned class = class_at(making, row->size);
        for (unsigned k = 0; k < COUNT_OF(sums); k++) {
            add(&seen[class][k].blocks, sums[k]->objects);
            add(&seen[class][k].bytes, sums[k]->usable);
        }
        peak += (double)row->peak.usable * row->weight;
        add(&totals->seen_live, row->live.objects);
        add(&totals->seen_allocated, row->allocated.objects);
    }
    bool all = all_recorded(making);
    bool in_sites = making->peak->in_sites != 0 && peak >= (double)making->peak->bytes;
    making->peak_bytes = 0;
    for (unsigned i = 1; i <= LARGE; i++) {
        struct capture_class *class = &making->numbers->classes[i];
        struct capture_count *sums[] = {&class->allocated, &class->live, &class->peak};
        if (all) {
            class->allocated = seen[i][0];
            class->live = seen[i][1];
        }
        if (in_sites)
            class->peak = seen[i][2];
        for (unsigned k = 0; k < COUNT_OF(sums); k++) {
            sums[k]->blocks = max(sums[k]->blocks, seen[i][k].blocks);
            sums[k]->bytes = max(sums[k]->bytes, seen[i][k].bytes);
        }
        class->live.blocks = min(class->live.blocks, class->allocated.blocks);
        class->live.bytes = min(class->live.bytes, class->allocated.bytes);
        making->peak_bytes += class->peak.bytes;
    }
}

/* Every block was recorded since the start: the sites are up to date at each call, the counters
 * are not. */
static bool all_recorded(const struct making *making)
{
    const struct recorder_head *head = &making->sheets->head;
    for (unsigned i = 1; i < RECORDER_RATES; i++)
        if (head->rates[i] != 0)
            return false;
    return head->rate == 0 && (head->covered & 1) != 0 && head->lost == 0 &&
           !(head->state & RECORDER_FULL);
}

static void totals_make(struct making *making)
{
    const struct recorder_head *head = &making->sheets->head;
    struct recorder_numbers *numbers = making->numbers;
    struct capture_totals *totals = &numbers->totals;
    for (unsigned i = 1; i <= LARGE; i++) {
        struct capture_class *class = &numbers->classes[i];
        class->peak.blocks = min(class->peak.blocks, class->allocated.blocks);
        class->peak.bytes = min(class->peak.bytes, class->allocated.bytes);
        sum_count(&totals->live, &class->live);
        sum_count(&totals->allocated, &class->allocated);
        sum_count(&totals->peak, &class->peak);
    }
    totals->lost = head->lost;
    totals->refused = head->refused;
    totals->covered = head->covered & 1;
    totals->off_ms = head->off_ms;
    asked_make(numbers);
    numbers->allocs = totals->allocated.objects;
    numbers->frees = totals->allocated.objects - totals->live.objects;
    numbers->alloc_bytes = totals->allocated.usable;
    numbers->free_bytes = totals->allocated.usable - totals->live.usable;
}

static void sum_count(struct capture_sum *to, const struct capture_count *count)
{
    to->objects += count->blocks;
    to->usable += count->bytes;
    to->requested += count->bytes; /* less what the sites know, below */
}

/* What the program asked for: the counters know block sizes alone, the sites both. */
static void asked_make(struct recorder_numbers *numbers)
{
    struct capture_totals *totals = &numbers->totals;
    struct capture_sum *sums[] = {&totals->live, &totals->allocated, &totals->peak};
    double rounding[COUNT_OF(sums)] = {0};
    for (size_t i = 0; i < numbers->row_count; i++) {
        const struct capture_row *row = &numbers->rows[i];
        const struct capture_sum *parts[] = {&row->live, &row->allocated, &row->peak};
        for (unsigned k = 0; k < COUNT_OF(parts); k++)
            rounding[k] += (double)less(parts[k]->usable, parts[k]->requested) * row->weight;
    }
    for (unsigned k = 0; k < COUNT_OF(sums); k++)
        sums[k]->requested =
            rounding[k] < (double)sums[k]->usable ? sums[k]->usable - (uint64_t)rounding[k] : 0;
}

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The place of a size among the classes; LARGE if it has none. */
static unsigned class_at(const struct making *making, uint64_t size)
{
    const struct recorder_head *head = &making->sheets->head;
    for (unsigned class = 1; class < head->class_count && class < LARGE; class ++)
        if (head->mark_sizes[class] == size && size > 0)
            return class;
    return LARGE;
}

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* `more` may be anything, as it comes from a file that may be damaged. */
static void add(uint64_t *sum, uint64_t more)
{
    *sum = more > COUNT_MAX - *sum ? COUNT_MAX : *sum + more;
}

/* ---- counters ---- */

static void classes_make(struct making *making)
{
    const struct recorder_head *head = &making->sheets->head;
    uint32_t rows = recorder_rows(making->sheets, SHEET_HEAPS);
    for (unsigned mark = 1; mark < head->mark_count && mark < RECORDER_MARKS; mark++)
        if (head->mark_sizes[mark] != 0)
            making->class_of[mark] = (uint8_t)class_at(making, head->mark_sizes[mark]);
    for (uint32_t i = 0; i < rows; i++) {
        struct recorder_heap heap;
        if (recorder_row(making->sheets, SHEET_HEAPS, i, &heap))
            count_add(making, &heap);
    }
    for (unsigned i = 1; i <= LARGE; i++) {
        struct capture_class *class = &making->numbers->classes[i];
        class->size = i < LARGE && i < head->class_count ? head->mark_sizes[i] : 0;
        if (i < LARGE) {
            class->allocated.bytes = bytes_of(class->allocated.blocks, class->size);
            class->live.bytes = bytes_of(class->live.blocks, class->size);
        }
        live_make(&class->allocated, &class->live);
        class->peak = (struct capture_count){min(making->peak->classes[i].blocks, COUNT_MAX),
                                             min(making->peak->classes[i].bytes, COUNT_MAX)};
    }
}

static uint64_t bytes_of(uint64_t blocks, uint64_t size)
{
    return size > 0 && blocks > COUNT_MAX / size ? COUNT_MAX : blocks * size;
}

static void count_add(struct making *making, const struct recorder_heap *heap)
{
    for (unsigned mark = 1; mark < RECORDER_MARKS; mark++) {
        struct capture_class *class = &making->numbers->classes[making->class_of[mark]];
        if (making->class_of[mark] == 0)
            continue;
        add(&class->allocated.blocks, heap->marks[mark].allocs);
        add(&class->live.blocks, heap->marks[mark].frees); /* freed, for the time being */
    }
    struct capture_class *large = &making->numbers->classes[LARGE];
    add(&large->allocated.blocks, heap->large.allocs);
    add(&large->allocated.bytes, heap->large_bytes.allocs);
    add(&large->live.blocks, heap->large.frees);
    add(&large->live.bytes, heap->large_bytes.frees);
}

/* From freed to live; a free may be counted before the allocation of its block is. */
static void live_make(struct capture_count *allocated, struct capture_count *live)
{
    allocated->blocks = max(allocated->blocks, live->blocks);
    allocated->bytes = max(allocated->bytes, live->bytes);
    live->blocks = allocated->blocks - live->blocks;
    live->bytes = allocated->bytes - live->bytes;
}

/* ---- sites ---- */

static bool rows_make(struct making *making)
{
    struct recorder_numbers *numbers = making->numbers;
    uint32_t sites = recorder_rows(making->sheets, SHEET_SITES);
    numbers->rows = malloc((sites + (size_t)1) * sizeof *numbers->rows);
    if (numbers->rows == NULL)
        return false;
    for (uint32_t id = 1; id < sites; id++) {
        struct recorder_site site;
        if (site_read(making->sheets, id, &site) &&
            row_make(making->sheets, &site, &numbers->rows[numbers->row_count]))
            numbers->row_count++;
    }
    qsort(numbers->rows, numbers->row_count, sizeof *numbers->rows, row_order);
    return true;
}

/* As it was before counts began to move, if that was not done. */
static bool site_read(const struct recorder_sheets *sheets, uint32_t id, struct recorder_site *site)
{
    const struct recorder_fold *fold = &sheets->head.fold;
    if (!recorder_row(sheets, SHEET_SITES, id, site))
        return false;
    if (fold->to != 0 && id == fold->from)
        *site = fold->before[0];
    else if (fold->to != 0 && id == fold->to)
        *site = fold->before[1];
    return site->key != 0 && site->era >> RECORDER_ERA_AT == sheets->head.era;
}

static bool row_make(const struct recorder_sheets *sheets, const struct recorder_site *site,
                     struct capture_row *row)
{
    const struct recorder_head *head = &sheets->head;
    unsigned class = site->kind & ((1u << RECORDER_CLASS_BITS) - 1);
    unsigned rate = site->kind >> RECORDER_CLASS_BITS & (RECORDER_RATES - 1);
    struct recorder_node node;
    uint32_t stack = (uint32_t)site->key - 1;
    bool known =
        stack <= STACK_OTHER || (recorder_row(sheets, SHEET_NODES, stack, &node) && node.pc != 0);
    *row = (struct capture_row){
        .stack = known ? stack : STACK_OTHER,
        .thread = (uint32_t)(site->key >> 32),
        .size = class < head->class_count && class < LARGE ? head->mark_sizes[class] : 0,
        .rate = head->rates[rate],
        .allocated = sum_of(&site->allocated),
        .moved_out = site->moved_out,
        .again = min(site->again, site->allocated.objects)};
    if (row->allocated.objects == 0 || row->rate < 0)
        return false;
    const struct recorder_sum *own = &site->own.freed, *others = &site->others.freed;
    row->live = (struct capture_sum){
        less(row->allocated.objects, own->objects + others->objects),
        less(row->allocated.requested, own->requested + others->requested),
        less(row->allocated.usable, own->usable + others->usable),
    };
    if (row->live.objects == 0)
        row->live = (struct capture_sum){0, 0, 0};
    bool saved = (int32_t)(site->peak_epoch - head->peak_epoch) >= 0;
    row->peak = saved ? sum_min(sum_of(&site->peak), &row->allocated) : row->live;
    for (unsigned i = 0; i < FORMAT_LIVES; i++)
        row->lives[i] = (uint64_t)site->own.lives[i] + site->others.lives[i];
    row->weight = weight_of(row);
    return true;
}

static struct capture_sum sum_of(const struct recorder_sum *sum)
{
    return (struct capture_sum){min(sum->objects, COUNT_MAX), min(sum->requested, COUNT_MAX),
                                min(sum->usable, COUNT_MAX)};
}

static struct capture_sum sum_min(struct capture_sum a, const struct capture_sum *b)
{
    return (struct capture_sum){min(a.objects, b->objects), min(a.requested, b->requested),
                                min(a.usable, b->usable)};
}

static double weight_of(const struct capture_row *row)
{
    /* No block is smaller than a byte, whatever a damaged file says: a weight has its limit. */
    double mean = row->allocated.usable > row->allocated.objects
                      ? (double)row->allocated.usable / (double)row->allocated.objects
                      : 1;
    double picked = row->rate > 0 ? -expm1(-mean / (double)row->rate) : 1;
    return picked > 0 ? 1 / picked : 1;
}

static int row_order(const void *left, const void *right)
{
    const struct capture_row *a = left, *b = right;
    if (a->stack != b->stack)
        return a->stack > b->stack ? 1 : -1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}
