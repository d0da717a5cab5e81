/* SPDX-License-Identifier: MIT */
/* See lib/cpu/course.h. `course_version` is odd while two parts become one. */
#include "lib/cpu/course.h"

#include <string.h>

#include "base/compiler.h"
#include "base/os.h"

enum { FIRST_SHIFT = 3, TRIES = 100 }; /* parts of 8 ms at first */

static BULK uint64_t first_ms;

static void parts_join(struct task *task);

void course_begin(uint64_t now_ms)
{
    store_relaxed(&first_ms, now_ms);
    for (uint32_t number = 1; number < tasks_count(); number++) {
        struct task *task = tasks_at(number);
        store_relaxed(&task->course_shift, 0);
        for (unsigned i = 0; i < TASK_COURSE; i++)
            store_relaxed(&task->course_us[i], 0);
    }
}

void course_add(struct task *task, uint64_t ns)
{
    uint64_t now_ms = os_now_ms(), from_ms = load_relaxed(&first_ms);
    uint64_t ms = now_ms > from_ms ? now_ms - from_ms : 0;
    while (ms >> (task->course_shift + FIRST_SHIFT) >= TASK_COURSE)
        parts_join(task);
    uint32_t *part = &task->course_us[ms >> (task->course_shift + FIRST_SHIFT)];
    uint64_t us = load_relaxed(part) + ns / 1000;
    store_relaxed(part, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
}

static void parts_join(struct task *task)
{
    store_relaxed(&task->course_version, task->course_version + 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < TASK_COURSE; i++) {
        uint32_t us = 2 * i >= TASK_COURSE ? 0
                                           : load_relaxed(&task->course_us[2 * i]) +
                                                 load_relaxed(&task->course_us[2 * i + 1]);
        store_relaxed(&task->course_us[i], us);
    }
    store_relaxed(&task->course_shift, task->course_shift + 1);
    store_release(&task->course_version, task->course_version + 1);
}

uint64_t course_read(const struct task *task, uint32_t us[TASK_COURSE])
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        uint32_t version = load_acquire(&task->course_version);
        uint32_t any = 0, shift = load_relaxed(&task->course_shift);
        for (unsigned i = 0; i < TASK_COURSE; i++)
            any |= us[i] = load_relaxed(&task->course_us[i]);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version % 2 == 0 && load_relaxed(&task->course_version) == version)
            return any == 0 ? 0 : (uint64_t)1 << (shift + FIRST_SHIFT);
    }
    return 0;
}
