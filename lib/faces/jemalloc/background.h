/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's background_thread: idle memory goes back to the kernel while the program makes no
 * calls. Without it the program's own calls do the work (`return.delay`).
 */
#ifndef JEMALLOC_BACKGROUND_H
#define JEMALLOC_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

/* Before main: as the option says. */
void background_before_main(void);
/* Starts the thread or lets it end; false: it can't be started. */
bool background_set(bool on);
/* Whether it runs: not in a forked child, as in jemalloc. */
bool background_runs(void);

struct background_sums {
    uint64_t threads, runs, interval_ns; /* the mean time between two runs */
};
struct background_sums background_sums(void);

#endif
