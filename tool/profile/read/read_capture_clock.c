/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/read/read_capture_clock.h. Rows and courses name a thread by its number in the
 * snapshot; the thread's own name is known only after all records of the snapshot were read. A
 * thread that used CPU time and has hardly a sample blocks our signals: a warning says so.
 */
#include "tool/profile/read/read_capture_clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "tool/profile/read/read_capture.h"

void clock_rows_start(struct clock_rows *clock, struct profile *profile,
                      const struct capture_cpu *cpu)
{
    clock->known = true;
    clock->wall = cpu->wall;
    profile->clock = (struct profile_clock){
        .rate = capture_value(cpu->rate),
        .source = profile_string(profile, cpu->source.bytes, cpu->source.length),
        .on_ns = capture_value(cpu->on_ns),
        .lost = capture_value(cpu->lost),
        .uncovered = capture_value(cpu->uncovered),
        .user_ns = capture_value(cpu->user_ns),
        .system_ns = capture_value(cpu->system_ns),
    };
    if (cpu->lost > cpu->samples / 100)
        profile_warn(profile,
                     "%lu of %lu samples %s lost: the thread could not be interrupted, or its "
                     "stack could not be read",
                     (unsigned long)cpu->lost, (unsigned long)(cpu->samples + cpu->lost),
                     cpu->lost == 1 ? "was" : "were");
    if (cpu->uncovered > 0)
        profile_warn(profile, "%lu %s no clock: %s time is missing", (unsigned long)cpu->uncovered,
                     cpu->uncovered == 1 ? "thread got" : "threads got",
                     cpu->uncovered == 1 ? "its" : "their");
}

/* A thread that used CPU time and has hardly a sample. */
static void blocked_note(struct clock_rows *clock, const struct clock_thread *kept,
                         const struct capture_cpu_thread *thread)
{
    enum { MUCH_NS = 50000000, SHARE = 4 }; /* five samples at 100 Hz, and less than one of four */
    if (clock->wall || thread->cpu_ns < MUCH_NS || thread->ns > thread->cpu_ns / SHARE)
        return;
    if (clock->blocked++ == 0)
        clock->blocked_name = kept->name;
    clock->blocked_ns += thread->cpu_ns - thread->ns;
}

static void blocked_warn(const struct clock_rows *clock, struct profile *profile)
{
    if (clock->blocked == 0)
        return;
    char others[48] = "";
    if (clock->blocked > 1)
        snprintf(others, sizeof others, " and %u more", clock->blocked - 1);
    profile_warn(profile,
                 "%lu ms of CPU time of thread %s%s have no sample: it blocks all signals, also "
                 "those that sample it (SIGWINCH, and one of libc's own)",
                 (unsigned long)(clock->blocked_ns / 1000000),
                 profile_text(profile, clock->blocked_name), others);
}

void clock_rows_thread(struct clock_rows *clock, struct profile *profile,
                       const struct capture_cpu_thread *thread)
{
    struct clock_thread *kept = profile_list_add(profile, &clock->threads, sizeof *kept);
    if (!kept)
        return;
    *kept = (struct clock_thread){
        .number = thread->number, .tid = thread->tid, .named = thread->name.length > 0};
    kept->name = capture_thread_name(profile, &thread->name, thread->tid);
    blocked_note(clock, kept, thread);
}

void clock_rows_row(struct clock_rows *clock, struct profile *profile,
                    const struct capture_cpu_row *row)
{
    struct capture_cpu_row *kept = profile_list_add(profile, &clock->rows, sizeof *kept);
    if (kept)
        *kept = *row;
}

void clock_rows_courses(struct clock_rows *clock, struct profile *profile,
                        const struct capture_part *whole)
{
    struct capture_part part = *whole;
    while (part.at < part.end && !profile->failed) {
        struct profile_course course = {.id = capture_next(&part)};
        uint64_t width_ms = capture_next(&part), count = capture_next(&part);
        if (width_ms == 0 || width_ms > UINT32_MAX || count > PROFILE_COURSE_MAX)
            return; /* made by a later version */
        course.width_ms = (uint32_t)width_ms;
        course.count = (uint32_t)count;
        for (unsigned i = 0; i < count; i++)
            course.us[i] = (uint32_t)capture_next(&part);
        struct profile_course *kept = profile_list_add(profile, &clock->courses, sizeof *kept);
        if (kept)
            *kept = course;
    }
}

static int by_number(const void *left, const void *right)
{
    const struct clock_thread *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* By the kernel's tid from now on, as rows of threads are. */
static void courses_name(const struct clock_rows *clock, struct profile *profile)
{
    for (size_t i = 0; i < clock->courses.count; i++) {
        const struct profile_course *course = (struct profile_course *)clock->courses.items + i;
        const struct clock_thread *thread = clock_rows_find(clock, (uint32_t)course->id);
        struct profile_course *kept =
            thread ? profile_list_add(profile, &profile->courses, sizeof *kept) : NULL;
        if (kept) {
            *kept = *course;
            kept->id = thread->tid;
        }
    }
}

void clock_rows_sort(struct clock_rows *clock)
{
    if (clock->threads.count > 0)
        qsort(clock->threads.items, clock->threads.count, sizeof(struct clock_thread), by_number);
}

bool clock_rows_end(struct clock_rows *clock, struct profile *profile)
{
    if (!clock->known || profile->failed)
        return false;
    courses_name(clock, profile);
    bool alone = profile->samples.count == 0;
    blocked_warn(clock, profile);
    if (alone) {
        profile->kind = PROFILE_CPU;
        profile->types = 0;
    }
    clock->samples = profile_type(profile, TYPE_SAMPLES, UNIT_COUNT);
    clock->time = profile_type(profile, clock->wall ? TYPE_WALL : TYPE_CPU, UNIT_NANOSECONDS);
    if (alone) {
        profile->default_type = clock->time;
        profile->period_type = profile->type[clock->time];
        profile->period = profile->clock.rate > 0 ? 1000000000 / profile->clock.rate : 0;
    }
    return !profile->failed;
}

struct clock_thread *clock_rows_find(const struct clock_rows *clock, uint32_t number)
{
    struct clock_thread wanted = {.number = number};
    return clock->threads.count == 0 ? NULL
                                     : bsearch(&wanted, clock->threads.items, clock->threads.count,
                                               sizeof wanted, by_number);
}

void clock_rows_add(const struct clock_rows *clock, struct profile *profile,
                    const struct capture_cpu_row *row, uint32_t stack, uint32_t label_set)
{
    size_t sample = profile_sample(profile, stack, label_set);
    struct profile_samples *samples = &profile->samples;
    if (profile->failed)
        return;
    samples->values[clock->samples][sample] = capture_value(row->samples);
    samples->values[clock->time][sample] = capture_value(row->ns);
    profile_sample_weigh(profile, sample, 1);
}

void clock_rows_free(struct clock_rows *clock)
{
    free(clock->threads.items);
    free(clock->rows.items);
    free(clock->courses.items);
}
