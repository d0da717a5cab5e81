/* SPDX-License-Identifier: MIT */
/*
 * Recorded blocks that have ended, one by one, for jemalloc's prof_log: who allocated, who freed,
 * when, how much. Off unless somebody starts it; then 40 bytes a block until it is stopped and
 * written.
 */
#ifndef WATCH_BLOCK_LOG_H
#define WATCH_BLOCK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

extern HIDDEN bool block_log_on;

/* False if it runs already. */
bool block_log_start(void);
/* A block ends, in the calling thread. `thread` (threads.h) allocated it. Takes no lock. */
void block_log_add(uint32_t stack, uint32_t thread, uint64_t age_us, size_t usable);
/* Ends it and writes it as JSON. 0 or an errno value; EINVAL if it does not run. */
int block_log_stop(const char *path, const char *version, unsigned lg_sample);

#endif
