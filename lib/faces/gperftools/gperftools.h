/* SPDX-License-Identifier: MIT */
/*
 * The face of gperftools: its heap profiler (gperftools.c), the variables that start it
 * (gperftools_env.c), tc_malloc and its family (tcmalloc.c), MallocExtension and the statistics
 * (malloc_extension.c).
 */
#ifndef GPERFTOOLS_GPERFTOOLS_H
#define GPERFTOOLS_GPERFTOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/print.h"

/* The values of the variables. */
struct gperftools_settings {
    const char *prefix;                                          /* HEAPPROFILE, or NULL */
    uint64_t allocated_bytes, freed_bytes, in_use_bytes, time_s; /* between dumps; 0: off */
    uint64_t sample_bytes; /* TCMALLOC_SAMPLE_PARAMETER; 0: no change */
    unsigned signal, stats_level;
    bool signal_wrong; /* the variable is set, but not to a signal's number */
    bool use_pid, cleanup, quiet;
    bool mmap, only_mmap, mmap_log;
};
extern struct gperftools_settings gperftools_settings;
void gperftools_settings_read(void);
/* Removes the files of an earlier run: PREFIX.*.heap, or PREFIX_PID.*.heap if `pid` is not 0. */
void gperftools_cleanup(const char *prefix, int pid);

void gperftools_init(void);
void gperftools_ready(void);
void gperftools_before_main(void);
void gperftools_exit(void);
/* The heap of the process is another library's, and so are the variables. */
void gperftools_disown(void);

/* The table of MALLOCSTATS. */
enum { GPERFTOOLS_STATS_SIZE = 2048 };
void gperftools_stats(struct print *out);

#endif
