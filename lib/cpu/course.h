/* SPDX-License-Identifier: MIT */
/*
 * Which thread ran when: the time of a thread's CPU samples, in TASK_COURSE parts of equal width
 * from the start of the profile on. When a sample comes behind the last part, two parts become
 * one. A thread writes its own in its signal handler; the width of one that has not run for long
 * is still narrow.
 */
#ifndef CPU_COURSE_H
#define CPU_COURSE_H

#include <stdint.h>

#include "lib/watch/watch.h"

/* Everything before is forgotten; os_now_ms() of the first part. */
void course_begin(uint64_t first_ms);
/* In the handler of the thread. */
void course_add(struct task *task, uint64_t ns);
/* A copy that is whole. Returns the width of a part in ms; 0: the thread has no sample. */
uint64_t course_read(const struct task *task, uint32_t us[TASK_COURSE]);

#endif
