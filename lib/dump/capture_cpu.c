/* SPDX-License-Identifier: MIT */
/*
 * The CPU profile in a capture. Its stacks are nodes of the tree that the heap's rows refer to; one
 * that was added after the snapshot's nodes were written waits for the next snapshot, and the sums
 * of this one are those of its rows.
 */
#include "base/compiler.h"
#include "base/file/capture_format.h"
#include "base/os.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_record.h"
#include "lib/watch/watch.h"

struct writer {
    struct capture *capture;
    uint64_t samples, ns;
};

static void write_row(void *context, const struct cpu_row *row);

void capture_cpu_threads(struct capture *capture)
{
    char name[TASK_NAME_SIZE];
    for (uint32_t number = 1; number < tasks_count(); number++) {
        const struct task *task = tasks_at(number);
        uint32_t state = load_acquire(&task->state);
        if (state == TASK_FREE)
            continue;
        tasks_name(task, name);
        capture_record_begin(capture, RECORD_CPU_THREADS, CAPTURE_ENTRY_MAX);
        capture_put(capture, number);
        capture_put(capture, task->tid);
        capture_put(capture, state == TASK_LIVES ? THREAD_ALIVE : 0);
        capture_put(capture, task->since_ms);
        capture_put(capture, state == TASK_LIVES ? os_now_ms() : task->until_ms);
        capture_put(capture, cpu_used_ns(task));
        capture_put(capture, load_relaxed(&task->sampled_ns));
        capture_put(capture, load_relaxed(&task->samples));
        capture_put_text(capture, name);
    }
    capture_record_end(capture);
}

/* Up to the last part in which it ran. */
static void write_courses(struct capture *capture)
{
    uint32_t us[TASK_COURSE];
    for (uint32_t number = 1; number < tasks_count(); number++) {
        const struct task *task = tasks_at(number);
        uint64_t width_ms = 0;
        if (load_acquire(&task->state) == TASK_FREE || (width_ms = course_read(task, us)) == 0)
            continue;
        unsigned count = TASK_COURSE;
        while (us[count - 1] == 0)
            count--;
        capture_record_begin(capture, RECORD_CPU_COURSES, CAPTURE_ENTRY_MAX);
        capture_put(capture, number);
        capture_put(capture, width_ms);
        capture_put(capture, count);
        for (unsigned i = 0; i < count; i++)
            capture_put(capture, us[i]);
    }
    capture_record_end(capture);
}

void capture_cpu(struct capture *capture)
{
    struct writer writer = {.capture = capture};
    struct cpu_about about;
    cpu_about(&about);
    if (about.first_ms == 0)
        return;
    cpu_settle();
    capture_cpu_threads(capture);
    write_courses(capture);
    samples_each(write_row, &writer, false);
    capture_record_end(capture);
    capture_record_begin(capture, RECORD_CPU, CAPTURE_TEXT_MAX + CAPTURE_ENTRY_MAX);
    capture_put(capture, about.runs ? CPU_RUNNING : 0);
    capture_put(capture, about.rate);
    capture_put(capture, about.wall);
    capture_put_text(capture, about.source);
    capture_put(capture, about.first_ms);
    capture_put(capture, about.on_ns);
    capture_put(capture, writer.samples);
    capture_put(capture, writer.ns);
    capture_put(capture, about.lost);
    capture_put(capture, about.stackless);
    capture_put(capture, about.uncovered);
    capture_put(capture, about.user_ns);
    capture_put(capture, about.system_ns);
    capture_record_end(capture);
}

static void write_row(void *context, const struct cpu_row *row)
{
    struct writer *writer = context;
    struct capture *capture = writer->capture;
    if (row->stack >= capture->nodes)
        return;
    if (capture_record_begin(capture, RECORD_CPU_ROWS, CAPTURE_ENTRY_MAX))
        capture->last_stack = 0;
    capture_put_change(capture, capture->last_stack, row->stack);
    capture->last_stack = row->stack;
    capture_put(capture, row->task == TASK_NONE ? 0 : (uint64_t)row->task + 1);
    capture_put(capture, row->samples);
    capture_put(capture, row->ns);
    writer->samples += row->samples;
    writer->ns += row->ns;
}
