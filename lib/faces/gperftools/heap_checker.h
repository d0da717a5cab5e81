/* SPDX-License-Identifier: MIT */
/*
 * gperftools' leak checker, as of 2.10: HEAPCHECK and its variables, the check of the whole program
 * at its end, checks of parts of it (heap-checker.h). The scan is memoir's own (lib/leak), with the
 * rules of gperftools; what is printed, the files and the ends are those of gperftools.
 */
#ifndef GPERFTOOLS_HEAP_CHECKER_H
#define GPERFTOOLS_HEAP_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/api.h"
#include "lib/control/control.h"

/* The values of the variables HEAP_CHECK_*, after the mode has had its say. */
struct heap_checker_settings {
    bool ignore_thread_live, ignore_global_live, identify_leaks, test_alignment;
    int64_t offset_max; /* negative: any */
    unsigned step, leaks_max, delay_s;
    const char *folder;
};
extern struct heap_checker_settings heap_checker_settings;

/* Reads the variables. */
void heap_checker_init(void);
void heap_checker_before_main(void);
/* The program ends. May not return. */
void heap_checker_exit(void);
/* The heap of the process is another library's. */
void heap_checker_disown(void);

/* Whether HEAPCHECK asks for a check. */
bool heap_checker_is_wanted(void);
/* Whether checks look for anything. */
bool heap_checker_is_active(void);
/* Whether the whole program is checked at its end, which a call may have undone. */
bool heap_checker_is_global(void);
void heap_checker_cancel(void);

/* A line of gperftools'; `quiet`: PERFTOOLS_VERBOSE below 0 leaves it out. */
__attribute__((format(printf, 2, 3))) void heap_checker_say(bool quiet, const char *format, ...);
/* The same, and the end. */
__attribute__((format(printf, 1, 2), noreturn)) void heap_checker_fatal(const char *format, ...);

/* Checks now, under that name: blocks that were there in `base`, if not NULL, are not counted.
 * `here`: the thread that asks, or NULL at the end of the program. True without leaks, or where no
 * scan could be made. */
struct heap_checker_sums {
    uint64_t bytes, objects;
};
bool heap_checker_check(const char *name, const struct blocks_base *base,
                        const struct roots_thread *here, struct heap_checker_sums *sums);
/* Those of the whole program. */
bool heap_checker_check_global(const struct roots_thread *here, struct heap_checker_sums *sums);

/* heap_checker_report.c: what was found, and the file. */
void heap_checker_report(const char *name, const struct leak_scan *scan,
                         const struct heap_checker_sums *sums);
/* heap_checker_cxx.c: HeapCleaner. */
void heap_checker_cleanups(void);

#endif
