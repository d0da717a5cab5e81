/* SPDX-License-Identifier: MIT */
/* Waits for locks in a capture. Stacks as in capture_cpu.c, whose records of threads they refer to.
 */
#include "base/file/capture_format.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_record.h"

static void write_row(void *context, const struct wait_row *row);

void capture_locks(struct capture *capture)
{
    struct waits_about about;
    struct cpu_about cpu;
    waits_about(&about);
    if (about.first_ms == 0)
        return;
    cpu_about(&cpu);
    if (cpu.first_ms == 0) /* else they are there */
        capture_cpu_threads(capture);
    capture_record_begin(capture, RECORD_LOCKS, CAPTURE_ENTRY_MAX);
    capture_put(capture, about.runs ? CPU_RUNNING : 0);
    capture_put(capture, about.first_ms);
    capture_put(capture, about.on_ns);
    capture_put(capture, about.lost);
    capture_put(capture, about.stackless);
    capture_record_end(capture);
    waits_each(write_row, capture);
    capture_record_end(capture);
}

static void write_row(void *context, const struct wait_row *row)
{
    struct capture *capture = context;
    if (row->stack >= capture->nodes)
        return;
    if (capture_record_begin(capture, RECORD_LOCK_ROWS, CAPTURE_ENTRY_MAX))
        capture->last_stack = 0;
    capture_put_change(capture, capture->last_stack, row->stack);
    capture->last_stack = row->stack;
    capture_put(capture, row->task == TASK_NONE ? 0 : (uint64_t)row->task + 1);
    capture_put(capture, row->kind);
    capture_put(capture, row->holder == TASK_NONE ? 0 : (uint64_t)row->holder + 1);
    capture_put(capture, row->count);
    capture_put(capture, row->ns);
}
