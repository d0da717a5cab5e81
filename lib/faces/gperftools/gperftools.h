/* SPDX-License-Identifier: MIT */
/*
 * The face of gperftools: its heap profiler (gperftools.c), the variables that start it
 * (gperftools_env.c), tc_malloc and its family (tcmalloc.c), MallocExtension and the statistics
 * (malloc_extension.c, malloc_extension_class.c, malloc_stats.c).
 */
#ifndef GPERFTOOLS_GPERFTOOLS_H
#define GPERFTOOLS_GPERFTOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/print.h"
#include "lib/dump/dump.h"

/* The values of the variables. */
struct gperftools_settings {
    const char *prefix;                                          /* HEAPPROFILE, or NULL */
    uint64_t allocated_bytes, freed_bytes, in_use_bytes, time_s; /* between dumps; 0: off */
    uint64_t sample_bytes; /* TCMALLOC_SAMPLE_PARAMETER; 0: no change */
    uint64_t cache_bytes;  /* of all threads; 0: no change */
    uint64_t limit_bytes;  /* of the heap; 0: none */
    uint64_t large_bytes;  /* blocks that are told of; 0: none */
    uint64_t delay_ms;     /* until free memory goes back */
    unsigned signal, stats_level;
    bool signal_wrong; /* the variable is set, but not to a signal's number */
    bool use_pid, cleanup, quiet, verbose;
    bool mmap, only_mmap, mmap_log;
};
extern struct gperftools_settings gperftools_settings;
void gperftools_settings_read(void);
/* The delay until free memory goes back that stands for a rate of gperftools' from 0 to 10, in
 * thousandths: 1 is our own delay, 10 a tenth of it, 0 never. */
uint64_t gperftools_delay_ms(uint64_t rate);
/* What gperftools makes of a bound of all caches: from 512 KiB to 1 GiB. */
uint64_t gperftools_cache_bytes(uint64_t wanted);
/* The value of a variable of gperftools', or `initial` if it is not set. */
bool gperftools_flag(const char *name, bool initial);
int64_t gperftools_number(const char *name, int64_t initial);
/* Removes the files of an earlier run: PREFIX.*.heap, or PREFIX_PID.*.heap if `pid` is not 0. */
void gperftools_cleanup(const char *prefix, int pid);

void gperftools_init(void);
void gperftools_ready(void);
void gperftools_before_main(void);
void gperftools_exit(void);
/* The heap profile of now, or with SOURCE_GROWTH that of its growth, as a C string on the program's
 * heap; empty if it could not be made, NULL if memory is out. */
char *gperftools_profile_text(enum dump_source source);
/* The heap of the process is another library's, and so are the variables. */
void gperftools_disown(void);

/* The table of MALLOCSTATS; level 2: with free memory by size. */
enum { GPERFTOOLS_STATS_SIZE = 2048, GPERFTOOLS_STATS_SIZE_FULL = 24 << 10 };
void gperftools_stats(struct print *out, unsigned level);

/* New blocks of this size and more are told of on standard error. */
void large_report_start(uint64_t bytes);

/* Of malloc_hook_c.h: the stack above the last frame of this library, leaf first. */
int MallocHook_GetCallerStackTrace(void **result, int max_depth, int skip_count);

#endif
