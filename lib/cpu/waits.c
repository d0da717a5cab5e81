/* SPDX-License-Identifier: MIT */
/*
 * See lib/cpu/waits.h. Rows live in a table that takes no lock (lib/watch/table.h). A signal
 * handler of the program may wait for a lock on top of a wait that begins: it gets a walk of its
 * own, and nothing here waits for the thread that it interrupted.
 */
#include "lib/cpu/waits.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/cpu/cpu.h"

/* entry.a: stack, kind and task; entry.b: the holder; entry.link: the previous row of the task. */
struct row {
    struct table_entry entry;
    uint64_t count, ns;
};

enum { KIND_AT = 32, TASK_AT = 36, KIND_MASK = 15 };
enum { OWNER = 1u << 31 }; /* walks of this observer are apart from those of CPU samples */

uint32_t waits_running;

static BULK uint32_t slabs[TABLE_SLABS];
static struct table rows = {
    .entry_bytes = sizeof(struct row), .slab_shift = 7, .count = 1, .slabs = slabs};
static struct waits_about sums; /* only its counts are used */
static uint64_t first_ms, on_ns, on_since_ns;

static void about_copy(void);
static uint32_t walk_find(uint32_t number, const struct caller *from);
static uint32_t row_of(enum wait_kind kind, uint32_t stack, uint32_t number, uint32_t holder);
static void row_copy(const struct row *row, uint32_t id);

void waits_start(void)
{
    if (load_relaxed(&waits_running))
        return;
    stacks_reserve();
    table_reserve(&rows, config.heap_memory);
    row_of(WAIT_MUTEX, STACK_OTHER, TASK_NONE, TASK_NONE); /* where no other row can be made */
    first_ms = first_ms == 0 ? os_now_ms() : first_ms;
    on_since_ns = os_now_ns();
    store_release(&waits_running, 1);
    waits_copy();
}

void waits_stop(void)
{
    if (!load_relaxed(&waits_running))
        return;
    store_release(&waits_running, 0);
    on_ns += os_now_ns() - on_since_ns;
    about_copy();
}

static void add(uint64_t *where, uint64_t value)
{
    __atomic_fetch_add(where, value, __ATOMIC_RELAXED);
}

static enum wait_kind kind_of(const struct row *row)
{
    return (enum wait_kind)(row->entry.a >> KIND_AT & KIND_MASK);
}

static uint32_t task_of(const struct row *row)
{
    return (uint32_t)(row->entry.a >> TASK_AT);
}

static void about_copy(void)
{
    if (!mirror_on())
        return;
    struct recorder_locks *to = &mirror_head()->locks;
    bool runs = load_relaxed(&waits_running);
    store_relaxed(&to->on_ns, on_ns);
    store_relaxed(&to->since_ms, runs ? on_since_ns / 1000000 : 0);
    store_relaxed(&to->lost, load_relaxed(&sums.lost));
    store_relaxed(&to->stackless, load_relaxed(&sums.stackless));
    store_release(&to->first_ms, first_ms);
}

uint32_t waits_find(enum wait_kind kind, uint32_t holder, const struct caller *from)
{
    uint32_t number = cpu_task_of(lock_self());
    uint32_t other = holder == 0 ? TASK_NONE : cpu_holder_of(holder);
    if (other != TASK_NONE)
        store_relaxed(&tasks_at(other)->holds, true);
    if (lock_held == 0) {
        stacks_reserve();
        table_reserve(&rows, config.heap_memory);
    }
    uint32_t stack = walk_find(number, from);
    uint32_t id = stack == STACK_OTHER ? 0 : row_of(kind, stack, number, other);
    if (id != 0)
        return id;
    add(&sums.stackless, 1);
    id = row_of(kind, STACK_OTHER, number, TASK_NONE);
    return id != 0 ? id : row_of(kind, STACK_OTHER, TASK_NONE, TASK_NONE);
}

/* The number of the stack above `from`. A handler on top of this very function finds `walking` set:
 * what is known of the thread's stack is half written then. */
static uint32_t walk_find(uint32_t number, const struct caller *from)
{
    static const struct own_stack nothing;
    struct task *task = number == TASK_NONE ? NULL : tasks_at(number);
    bool alone = task != NULL && !load_relaxed(&task->walking);
    if (alone)
        store_relaxed(&task->walking, true);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct walk *walk =
        walks_take(alone ? task->id | OWNER : WALKS_UNOWNED, alone ? &task->wait_own : &nothing);
    uint32_t stack = STACK_OTHER;
    if (walk != NULL) {
        unwind(walk, from, config.heap_depth);
        stack = stacks_add_now(walk);
        if (alone)
            task->wait_own = walk->own;
        walks_give(walk);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (alone)
        store_relaxed(&task->walking, false);
    return stack;
}

/* The number of a row that is made if need be; 0: there is no memory. */
static uint32_t row_of(enum wait_kind kind, uint32_t stack, uint32_t number, uint32_t holder)
{
    bool fresh;
    uint64_t key = stack | (uint64_t)kind << KIND_AT | (uint64_t)number << TASK_AT;
    uint32_t id = table_add_now(&rows, key, holder, config.heap_memory, &fresh);
    if (id == 0 || !fresh || number == TASK_NONE)
        return id;
    struct row *row = table_at(&rows, id);
    uint32_t *first = &tasks_at(number)->wait_rows, before = load_relaxed(first);
    do
        row->entry.link = before;
    while (
        !__atomic_compare_exchange_n(first, &before, id, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return id;
}

void waits_add(uint32_t id, uint64_t ns)
{
    if (id == 0) {
        add(&sums.lost, 1);
        return;
    }
    struct row *row = table_at(&rows, id);
    bool condition = kind_of(row) == WAIT_CONDITION;
    uint32_t number = task_of(row);
    add(&row->count, 1);
    add(&row->ns, ns);
    add(condition ? &sums.condition_waits : &sums.waits, 1);
    add(condition ? &sums.condition_ns : &sums.ns, ns);
    if (number != TASK_NONE)
        add(&tasks_at(number)->waits, 1);
    if (mirror_on()) {
        stacks_catch_up();
        row_copy(row, id);
        if (number != TASK_NONE)
            samples_copy_self(number, load_relaxed(&tasks_at(number)->waits));
        about_copy();
    }
}

/* NULL: not filled in yet. */
static struct row *row_at(uint32_t id)
{
    struct row *row = table_at(&rows, id);
    return load_acquire(&row->entry.a) == 0 ? NULL : row;
}

void waits_each(void (*each)(void *context, const struct wait_row *row), void *context)
{
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        const struct row *row = row_at(id);
        if (row == NULL || load_relaxed(&row->count) == 0)
            continue;
        each(context, &(struct wait_row){.stack = (uint32_t)row->entry.a,
                                         .task = task_of(row),
                                         .holder = row->entry.b,
                                         .kind = kind_of(row),
                                         .count = load_relaxed(&row->count),
                                         .ns = load_relaxed(&row->ns)});
    }
}

void waits_about(struct waits_about *about)
{
    bool runs = load_relaxed(&waits_running);
    *about = (struct waits_about){
        .runs = runs,
        .first_ms = first_ms,
        .on_ns = on_ns + (runs ? os_now_ns() - on_since_ns : 0),
        .waits = load_relaxed(&sums.waits),
        .ns = load_relaxed(&sums.ns),
        .condition_waits = load_relaxed(&sums.condition_waits),
        .condition_ns = load_relaxed(&sums.condition_ns),
        .lost = load_relaxed(&sums.lost),
        .stackless = load_relaxed(&sums.stackless),
    };
}

bool waits_has(const struct task *task)
{
    return load_relaxed(&task->waits) != 0 || load_relaxed(&task->holds);
}

void waits_fold(uint32_t number)
{
    struct task *task = tasks_at(number);
    for (uint32_t id = load_acquire(&task->wait_rows); id != 0;) {
        struct row *row = table_at(&rows, id), *to;
        uint32_t stack = (uint32_t)row->entry.a, to_id = 0;
        uint64_t count = __atomic_exchange_n(&row->count, 0, __ATOMIC_RELAXED);
        uint64_t ns = __atomic_exchange_n(&row->ns, 0, __ATOMIC_RELAXED);
        if (mirror_on())
            row_copy(row, id);
        if (count != 0 && (to_id = row_of(kind_of(row), stack, TASK_NONE, row->entry.b)) == 0)
            to_id = row_of(kind_of(row), STACK_OTHER, TASK_NONE, TASK_NONE);
        id = row->entry.link; /* rows stay with the number, for the next thread that has it */
        if (to_id == 0)
            continue;
        to = table_at(&rows, to_id);
        add(&to->count, count);
        add(&to->ns, ns);
        if (mirror_on())
            row_copy(to, to_id);
    }
    store_relaxed(&task->waits, 0);
}

/* A wait that ends during this call may stay counted. */
void waits_reset(void)
{
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        struct row *row = row_at(id);
        if (row == NULL)
            continue;
        store_relaxed(&row->count, 0);
        store_relaxed(&row->ns, 0);
    }
    for (uint32_t number = 1; number < tasks_count(); number++) {
        store_relaxed(&tasks_at(number)->waits, 0);
        store_relaxed(&tasks_at(number)->holds, false);
    }
    sums = (struct waits_about){0};
    on_ns = 0;
    on_since_ns = os_now_ns();
    first_ms = load_relaxed(&waits_running) ? os_now_ms() : 0;
    waits_copy();
}

void waits_forked(void)
{
    if (first_ms == 0)
        return;
    table_recover(&rows);
    waits_reset();
    for (uint32_t number = 1; number < tasks_count(); number++)
        store_relaxed(&tasks_at(number)->walking, false);
}

/* ---- the recorder file ---- */

static void row_copy(const struct row *row, uint32_t id)
{
    struct recorder_lock_row *to = mirror_row_try(SHEET_LOCK_ROWS, id);
    if (to == NULL)
        return; /* the next wait of this row tries again */
    store_relaxed(&to->kind, kind_of(row));
    store_relaxed(&to->holder, row->entry.b);
    store_relaxed(&to->count, load_relaxed(&row->count));
    store_relaxed(&to->ns, load_relaxed(&row->ns));
    store_release(&to->key, ((row->entry.a & UINT32_MAX) + 1) | (uint64_t)task_of(row) << 32);
}

void waits_copy(void)
{
    if (first_ms == 0 || !mirror_on())
        return;
    mirror_row_make(SHEET_NODES, STACK_OTHER + 1); /* so that waits seldom need more */
    mirror_row_make(SHEET_LOCK_ROWS, 1);
    mirror_row_make(SHEET_CPU_THREADS, 1);
    for (uint32_t id = 1; id < table_count(&rows); id++) {
        const struct row *row = row_at(id);
        if (row != NULL)
            row_copy(row, id);
    }
    for (uint32_t number = 1; number < tasks_count(); number++)
        samples_copy_task(number);
    about_copy();
}
