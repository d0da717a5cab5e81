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

#include "lib/watch/block.h"

/* False if it runs already. */
bool block_log_start(void);
/* A block ends, in the calling thread, which got there by `stack`. Takes no lock. */
void block_log_add(const struct block_end *end, uint32_t stack);
/* Ends it and writes it as JSON. 0 or an errno value; EINVAL if it does not run. */
int block_log_stop(const char *path, const char *version, unsigned lg_sample);

#endif
