/* SPDX-License-Identifier: MIT */
/*
 * helper: a heap profile that is made up, written in a format of lib/dump/format.h.
 *   profile_formats FORMAT RATE [accum] [raw]   the file, to standard output
 *   profile_formats expect RATE                 what a reader should make of it: a line a function
 * It stands in for heap_profile.c, stacks.c and threads.c, so that every number is known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cpu/cpu.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_leaks.h"
#include "lib/dump/dump.h"
#include "lib/dump/format.h"
#include "lib/heap/observer.h"
#include "lib/heap/threads.h"
#include "lib/heap/totals.h"
#include "lib/heap/track.h"
#include "lib/watch/stacks.h"
#include "lib/watch/watch.h"

#define FRAME(name)                                       \
    __attribute__((noinline)) void name(void);            \
    void name(void)                                       \
    {                                                     \
        __asm__ volatile("nop; nop; nop; nop; nop; nop"); \
    }
FRAME(alpha)
FRAME(beta)
FRAME(gamma_)
FRAME(delta)
FRAME(root)

enum { ROWS = 7 };
static struct track_row rows[ROWS];
static int64_t rate;
static const char *const names[] = {"?", "?", "root", "alpha", "beta", "gamma_", "delta"};

static void row(unsigned i, uint32_t stack, uint32_t thread, uint32_t size, uint64_t live,
                uint64_t all)
{
    struct track_row *made = &rows[i];
    uint32_t usable = size < 1000 ? size : (size + 4095) & ~UINT32_C(4095);
    *made = (struct track_row){
        .stack = stack, .thread = thread, .size = usable, .rate = rate, .class = i + 1};
    made->weight = rate > 0 ? 1 / (1 - exp(-(double)usable / (double)rate)) : 1;
    made->live = (struct track_sum){live, live * size, live * usable};
    made->allocated = (struct track_sum){all, all * size, all * usable};
    made->peak = (struct track_sum){all, all * size, all * usable};
    made->lives[3] = all - live;
}

static void make(void)
{
    row(0, 3, 0, 16, 40, 50);
    row(1, 3, 0, 100000, 3, 4);
    row(2, 3, 2, 5000, 7, 7);
    row(3, 4, 2, 64, 1000, 3000);
    row(4, 5, 3, 300000, 11, 20);
    row(5, 6, 0, 32, 0, 600);
    row(6, STACK_OTHER, THREAD_OTHER, 48, 5, 9);
}

void track_each(void (*each)(void *, const struct track_row *), void *context)
{
    for (unsigned i = 0; i < ROWS; i++)
        each(context, &rows[i]);
}

void track_seen(struct track_seen *seen)
{
    *seen = (struct track_seen){0};
}

void track_totals(struct track_totals *totals, struct scale *scale)
{
    (void)scale;
    memset(totals, 0, sizeof *totals);
    for (unsigned i = 0; i < ROWS; i++)
        totals->live.usable += (uint64_t)((double)rows[i].live.usable * rows[i].weight);
}

bool track_covered(void)
{
    return true;
}

void growth_each(void (*each)(void *context, const struct growth *growth), void *context)
{
    (void)each, (void)context;
}

void series_memory_now(struct series_memory *memory)
{
    memset(memory, 0, sizeof *memory);
}

uint64_t track_off_ms(void)
{
    return 0;
}

void totals_peak(const struct account *now, struct totals_peak *peak)
{
    (void)now;
    *peak = (struct totals_peak){.in_sites = true};
}

/* Whole blocks that a row stands for. */
static uint64_t blocks_of(uint64_t seen, const struct track_row *made)
{
    return (uint64_t)((double)seen * made->weight + 0.5);
}

/* Each row is a class of its own, and the counters are what it stands for. */
static void count(struct account *account)
{
    for (unsigned i = 0; i < ROWS; i++) {
        const struct track_row *made = &rows[i];
        struct account_sum *sum = &account->classes[made->class];
        sum->allocs = blocks_of(made->allocated.objects, made);
        sum->frees = sum->allocs - blocks_of(made->live.objects, made);
        sum->alloc_bytes = sum->allocs * made->size;
        sum->free_bytes = sum->frees * made->size;
    }
}

struct size_class size_classes[CLASS_COUNT];

unsigned series_points(struct series_point points[SERIES_MAX])
{
    for (unsigned i = 0; i < 5; i++)
        points[i] = (struct series_point){1000 + i, 10 * i, 20 * i, i, 4096};
    return 5;
}

bool stacks_node(uint32_t node, uint32_t *caller, uintptr_t *pc)
{
    /* all are called by 2, the root, but gamma by beta */
    void (*const functions[])(void) = {NULL, NULL, root, alpha, beta, gamma_, delta};
    static const uint32_t callers[] = {0, 0, 0, 2, 2, 4, 2};
    if (node < 2 || node > 6)
        return false;
    *caller = callers[node];
    *pc = (uintptr_t)functions[node] + 4;
    return true;
}

unsigned stacks_frames(uint32_t stack, uintptr_t *pcs, unsigned max)
{
    unsigned count = 0;
    while (count < max && stacks_node(stack, &stack, &pcs[count]))
        count++;
    return count;
}

uint32_t stacks_count(void)
{
    return 7;
}

uint64_t stacks_refused(void)
{
    return 1;
}

/* Row 1 is free, and ids are not numbers. */
bool threads_row(uint32_t number, struct thread_row *thread)
{
    static const char *const called[] = {"main", NULL, "", "work\ner"};
    if (number == 1 || number > 3)
        return false;
    *thread = (struct thread_row){7 + number, 100 + number, number != 3, 900 + number, ""};
    strcpy(thread->name, called[number]);
    return true;
}

bool threads_counts(uint32_t number, struct thread_counts *counts)
{
    (void)number, (void)counts;
    return false;
}

/* No CPU profile. */
/* No recorder file, and no scan for lost blocks. */
bool mirror_code_new;

void mirror_code_begin(void)
{
}

void mirror_code_add(uintptr_t start, uintptr_t end)
{
    (void)start, (void)end;
}

void mirror_code_end(void)
{
}

void capture_leaks(struct capture *capture)
{
    (void)capture;
}

void capture_locks(struct capture *capture)
{
    (void)capture;
}

void capture_pins(struct capture *capture, const struct account *account)
{
    (void)capture;
    (void)account;
}

void cpu_about(struct cpu_about *about)
{
    *about = (struct cpu_about){.rate = 100};
}

void cpu_settle(void)
{
}

uint64_t course_read(const struct task *task, uint32_t us[TASK_COURSE])
{
    (void)task;
    (void)us;
    return 0;
}

unsigned cpu_rate(void)
{
    return 100;
}

uint64_t cpu_used_ns(const struct task *task)
{
    return task->used_ns;
}

void samples_each(void (*each)(void *, const struct cpu_row *), void *context, bool since_mark)
{
    (void)each;
    (void)context;
    (void)since_mark;
}

uint32_t tasks_count(void)
{
    return 1;
}

struct task *tasks_at(uint32_t number)
{
    (void)number;
    return NULL;
}

void tasks_name(const struct task *task, char name[TASK_NAME_SIZE])
{
    memcpy(name, task->name, TASK_NAME_SIZE);
}

uint32_t threads_count(void)
{
    return 4;
}

/* function, objects and bytes in use, objects and bytes allocated; usable, then as asked for; and
 * all of it again as the counters have it: whole blocks */
static void expect(void)
{
    enum { COLUMNS = 12 };
    for (uint32_t stack = 1; stack <= 6; stack++) {
        double sum[COLUMNS] = {0};
        for (unsigned i = 0; i < ROWS; i++) {
            const struct track_row *made = &rows[i];
            const struct track_sum *seen[] = {&made->live, &made->allocated};
            if (made->stack != stack)
                continue;
            for (unsigned k = 0; k < 2; k++) {
                double blocks = (double)blocks_of(seen[k]->objects, made), size = made->size;
                double asked = (double)made->allocated.requested / (double)made->allocated.usable;
                sum[2 * k] += (double)seen[k]->objects * made->weight;
                sum[2 * k + 1] += (double)seen[k]->usable * made->weight;
                sum[4 + k] += (double)seen[k]->requested * made->weight;
                sum[6 + 2 * k] += blocks;
                sum[7 + 2 * k] += blocks * size;
                sum[10 + k] += blocks * size * asked;
            }
        }
        printf("%s", names[stack]);
        for (unsigned i = 0; i < COLUMNS; i++)
            printf(" %.1f", sum[i]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"capture", "pprof", "jemalloc", "gperftools"};
    static char buffer[100];
    static struct account account;
    struct format_options options = {.reason = "a test", .account = &account};
    struct sink sink;
    if (argc < 3)
        return 2;
    rate = atol(argv[2]);
    sampler_set_rate(rate);
    make();
    count(&account);
    for (int i = 3; i < argc; i++) {
        options.accum |= strcmp(argv[i], "accum") == 0;
        options.raw |= strcmp(argv[i], "raw") == 0;
    }
    if (strcmp(argv[1], "expect") == 0) {
        expect();
        return 0;
    }
    sink_to_fd(&sink, 1, buffer, sizeof buffer);
    for (unsigned kind = 0; kind < 4; kind++)
        if (strcmp(argv[1], kinds[kind]) == 0)
            return format_write(SOURCE_HEAP, (enum format_kind)kind, &options, &sink);
    return 2;
}
