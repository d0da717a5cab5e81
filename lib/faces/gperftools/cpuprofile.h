/* SPDX-License-Identifier: MIT */
/*
 * gperftools' CPU profiler: CPUPROFILE and the variables beside it, and what its functions
 * (profiler.c) do. The samples are those of lib/cpu; the file is written when the profiler stops.
 */
#ifndef GPERFTOOLS_CPUPROFILE_H
#define GPERFTOOLS_CPUPROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { CPUPROFILE_NAME_SIZE = 1024 }; /* as in struct ProfilerState */

/* False: it runs already, or the file can't be written, or there is no clock. `filter` as in
 * struct ProfilerOptions. */
bool cpuprofile_start(const char *path, int (*filter)(void *argument), void *argument);
void cpuprofile_stop(void);
bool cpuprofile_runs(void);
/* The file as of now. */
void cpuprofile_flush(void);

struct cpuprofile_state {
    bool runs;
    int64_t start_s;
    uint64_t samples;
    char name[CPUPROFILE_NAME_SIZE];
};
void cpuprofile_state(struct cpuprofile_state *state);

/* The variables: read at start, obeyed before main; the last file at exit. */
void cpuprofile_before_main(void);
void cpuprofile_exit(void);

#endif
