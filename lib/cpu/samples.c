/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/samples.h. A handler may have interrupted its own thread anywhere, also in these
 * tables on behalf of the heap observer. They take no lock; only a thread that needs more memory
 * for them does, and a handler does not wait for it (table_add_now): its sample then counts for
 * STACK_OTHER.
 */
#include "lib/cpu/samples.h"

#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/lock.h"
#include "base/os.h"

/* a holds the stack, b the task, link the row before it of the same task. */
struct row {
    struct table_entry entry;
    uint64_t samples, ns;
    uint64_t samples_mark, ns_mark; /* what they were at the last mark */
};

static const uint64_t KEY = (uint64_t)1 << 32; /* keys are not 0 */
enum { NAME_EVERY = 64 };                      /* samples of a thread, for the recorder file */

static BULK uint32_t slabs[TABLE_SLABS];
static struct table rows = {
    .entry_bytes = sizeof(struct row), .slab_shift = 7, .count = 1, .slabs = slabs};

static struct samples_sums sums;
static uint32_t rows_of_none; /* as task->rows */
/* Stacks of the last threads that stood for others. */
enum { OTHERS = 32 };
static BULK uint32_t others[OTHERS], others_count;

static void task_copy(const struct task *task, uint32_t number, bool ask);
static void row_copy(const struct row *row, uint32_t id);
static void sums_copy(void);
static uint32_t row_of(uint32_t stack, uint32_t number);
static void add(uint64_t *where, uint64_t value);

void samples_copy_task(uint32_t number)
{
    if (mirror_on())
        task_copy(tasks_at(number), number, false);
}

/* `ask`: in the thread itself, its name is asked for. */
static void task_copy(const struct task *task, uint32_t number, bool ask)
{
    struct recorder_cpu_thread *to = mirror_row_try(SHEET_CPU_THREADS, number);
    uint32_t state = load_acquire(&task->state);
    if (to == NULL)
        return;
    to->since_ms = task->since_ms;
    to->until_ms = task->until_ms;
    to->tid = task->tid;
    store_relaxed(&to->samples, load_relaxed(&task->samples));
    store_relaxed(&to->ns, load_relaxed(&task->sampled_ns));
    if (ask && !task->shares_memory)
        os_thread_name(to->name);
    else if (state == TASK_ENDED && task->name[0] != '\0')
        memcpy(to->name, task->name, sizeof to->name);
    store_release(&to->state, state == TASK_LIVES   ? RECORDER_THREAD_LIVES
                              : state == TASK_ENDED ? RECORDER_THREAD_ENDED
                                                    : RECORDER_THREAD_NONE);
}

void samples_copy_self(uint32_t number, uint64_t times)
{
    task_copy(tasks_at(number), number, times % NAME_EVERY == 1);
}

void samples_copy(void)
{
    if (!mirror_on())
        return;
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        const struct row *row = table_at(&rows, id);
        if (load_acquire(&row->entry.a) != 0)
            row_copy(row, id);
    }
    for (uint32_t number = 1; number < tasks_count(); number++)
        task_copy(tasks_at(number), number, false);
    sums_copy();
}

static void row_copy(const struct row *row, uint32_t id)
{
    struct recorder_cpu_row *to = mirror_row_try(SHEET_CPU_ROWS, id);
    if (to == NULL)
        return; /* the next sample of this row tries again */
    store_relaxed(&to->samples, load_relaxed(&row->samples));
    store_relaxed(&to->ns, load_relaxed(&row->ns));
    store_relaxed(&to->samples_mark, row->samples_mark);
    store_relaxed(&to->ns_mark, row->ns_mark);
    store_release(&to->key, ((row->entry.a & UINT32_MAX) + 1) | (uint64_t)row->entry.b << 32);
}

static void sums_copy(void)
{
    struct recorder_cpu *to = &mirror_head()->cpu;
    store_relaxed(&to->lost, load_relaxed(&sums.lost));
    store_relaxed(&to->stackless, load_relaxed(&sums.stackless));
}

/* ---- samples ---- */

/* The row of what was walked; where there is no memory for it, one that is there. */
static uint32_t row_find(struct walk *walk, uint32_t number)
{
    uint32_t stack = stacks_add_now(walk);
    uint32_t id = stack == STACK_OTHER ? 0 : row_of(stack, number);
    if (id != 0)
        return id;
    add(&sums.stackless, 1);
    id = row_of(STACK_OTHER, number);
    return id != 0 ? id : row_of(STACK_OTHER, TASK_NONE);
}

/* The number of a row that is made if need be; 0: there is no memory. */
static uint32_t row_of(uint32_t stack, uint32_t number)
{
    bool fresh;
    uint32_t id = table_add_now(&rows, KEY | stack, number, config.heap_memory, &fresh);
    if (id == 0)
        return 0;
    struct row *row = table_at(&rows, id);
    if (fresh) {
        uint32_t *first = number == TASK_NONE ? &rows_of_none : &tasks_at(number)->rows;
        uint32_t before = load_relaxed(first);
        do
            row->entry.link = before;
        while (!__atomic_compare_exchange_n(first, &before, id, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED));
    }
    return id;
}

static void add(uint64_t *where, uint64_t value)
{
    __atomic_fetch_add(where, value, __ATOMIC_RELAXED);
}

uint32_t samples_find(uint32_t number, const void *context)
{
    struct task *task = tasks_at(number);
    struct walk *walk = walks_take(task->id, &task->own);
    if (walk == NULL)
        return 0;
    if (lock_held == 0 && !task->shares_memory) {
        stacks_reserve();
        table_reserve(&rows, config.heap_memory);
    }
    unwind_context(walk, context, config.heap_depth);
    uint32_t id = row_find(walk, number);
    task->own = walk->own;
    walks_give(walk);
    return id;
}

uint32_t samples_find_caller(uint32_t number, const struct caller *from)
{
    struct walk *walk = walks_take(WALKS_UNOWNED, &tasks_at(number)->own);
    if (walk == NULL)
        return 0;
    unwind(walk, from, config.heap_depth);
    uint32_t id = row_find(walk, TASK_NONE);
    walks_give(walk);
    return id;
}

void samples_add(uint32_t id, uint32_t number, uint64_t samples, uint64_t ns)
{
    struct row *row = table_at(&rows, id);
    add(&row->samples, samples);
    add(&row->ns, ns);
    add(&sums.samples, samples);
    add(&sums.ns, ns);
    if (number != TASK_NONE) {
        add_relaxed(&tasks_at(number)->samples, samples);
        add_relaxed(&tasks_at(number)->sampled_ns, ns);
    }
    if (mirror_on()) {
        stacks_catch_up();
        row_copy(row, id);
        if (number != TASK_NONE)
            samples_copy_self(number, tasks_at(number)->samples);
        sums_copy();
    }
}

bool samples_take(uint32_t number, uint64_t ns, bool for_others, const void *context)
{
    uint32_t id = samples_find(number, context);
    if (id == 0) {
        samples_lost(ns / tasks_at(number)->period_ns);
        return false;
    }
    samples_add(id, number, 1, ns);
    if (for_others) {
        uint32_t at = __atomic_fetch_add(&others_count, 1, __ATOMIC_RELAXED) % OTHERS;
        store_release(&others[at], (uint32_t)((struct row *)table_at(&rows, id))->entry.a);
    }
    return true;
}

bool samples_spread_others(uint64_t ns)
{
    unsigned stacks = 0;
    for (unsigned i = 0; i < OTHERS; i++)
        stacks += load_acquire(&others[i]) != 0;
    for (unsigned i = 0; i < OTHERS; i++) {
        uint32_t stack = load_acquire(&others[i]);
        uint32_t id = stack == 0 ? 0 : row_of(stack, TASK_NONE);
        if (id != 0)
            samples_add(id, TASK_NONE, 0, ns / stacks);
    }
    return stacks != 0;
}

void samples_lost(uint64_t weight)
{
    add(&sums.lost, weight);
}

void samples_reserve(void)
{
    stacks_reserve();
    table_reserve(&rows, config.heap_memory);
    row_of(STACK_OTHER, TASK_NONE); /* the last resort */
    if (mirror_on()) {              /* so that handlers seldom need more */
        mirror_row_make(SHEET_NODES, STACK_OTHER + 1);
        mirror_row_make(SHEET_CPU_ROWS, 1);
        mirror_row_make(SHEET_CPU_THREADS, 1);
    }
    samples_copy();
}

struct samples_sums samples_sums(void)
{
    return (struct samples_sums){load_relaxed(&sums.samples), load_relaxed(&sums.ns),
                                 load_relaxed(&sums.lost), load_relaxed(&sums.stackless)};
}

const uint64_t *samples_count(void)
{
    return &sums.samples;
}

/* Up to the first row that is not filled in yet. */
static struct row *row_at(uint32_t id)
{
    struct row *row = table_at(&rows, id);
    return load_acquire(&row->entry.a) == 0 ? NULL : row;
}

void samples_each(void (*each)(void *context, const struct cpu_row *row), void *context,
                  bool since_mark)
{
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        const struct row *row = row_at(id);
        if (row == NULL)
            continue;
        struct cpu_row out = {(uint32_t)row->entry.a, row->entry.b, load_relaxed(&row->samples),
                              load_relaxed(&row->ns)};
        if (since_mark) {
            out.samples -= row->samples_mark;
            out.ns -= row->ns_mark;
        }
        if (out.samples != 0 || out.ns != 0)
            each(context, &out);
    }
}

void samples_mark(void)
{
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        struct row *row = row_at(id);
        if (row == NULL)
            continue;
        row->samples_mark = load_relaxed(&row->samples);
        row->ns_mark = load_relaxed(&row->ns);
    }
    samples_copy();
}

/* A sample that is taken meanwhile may stay. */
void samples_forget(void)
{
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        struct row *row = row_at(id);
        if (row == NULL)
            continue;
        row->samples_mark = row->ns_mark = 0;
        store_relaxed(&row->samples, 0);
        store_relaxed(&row->ns, 0);
    }
    for (uint32_t number = 1; number < tasks_count(); number++) {
        store_relaxed(&tasks_at(number)->samples, 0);
        store_relaxed(&tasks_at(number)->sampled_ns, 0);
    }
    for (unsigned i = 0; i < OTHERS; i++)
        store_relaxed(&others[i], 0);
    sums = (struct samples_sums){0};
    samples_copy();
}

void samples_spread(uint32_t number, uint64_t ns)
{
    const struct task *task = tasks_at(number);
    uint64_t all = 0, left = ns;
    if (ns == 0)
        return;
    for (uint32_t id = load_acquire(&task->rows); id != 0;) {
        const struct row *row = table_at(&rows, id);
        all += row->ns;
        id = row->entry.link;
    }
    for (uint32_t id = all == 0 ? 0 : load_acquire(&task->rows); id != 0;) {
        const struct row *row = table_at(&rows, id);
        uint64_t share = (uint64_t)((double)ns * (double)row->ns / (double)all);
        share = share < left ? share : left;
        if (share != 0)
            samples_add(id, number, 0, share);
        left -= share;
        id = row->entry.link;
    }
}

void samples_fold(uint32_t number)
{
    for (uint32_t id = load_acquire(&tasks_at(number)->rows); id != 0;) {
        struct row *row = table_at(&rows, id), *to;
        uint64_t counts[] = {row->samples, row->ns, row->samples_mark, row->ns_mark};
        uint32_t from_id = id, to_id = 0;
        id = row->entry.link; /* rows stay with the number, for the next thread that has it */
        row->samples = row->ns = row->samples_mark = row->ns_mark = 0;
        if (mirror_on())
            row_copy(row, from_id);
        if (counts[0] != 0 && (to_id = row_of((uint32_t)row->entry.a, TASK_NONE)) == 0)
            to_id = row_of(STACK_OTHER, TASK_NONE);
        if (to_id == 0)
            continue;
        to = table_at(&rows, to_id);
        add(&to->samples, counts[0]);
        add(&to->ns, counts[1]);
        add(&to->samples_mark, counts[2]);
        add(&to->ns_mark, counts[3]);
        if (mirror_on())
            row_copy(to, to_id);
    }
}

void samples_forked(void)
{
    walks_forked();
    table_recover(&rows);
    samples_forget();
}
