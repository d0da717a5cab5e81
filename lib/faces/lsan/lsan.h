/* SPDX-License-Identifier: MIT */
/*
 * The face of LeakSanitizer: its functions (sanitizer/lsan_interface.h), and with the option
 * leak.lsan its check at the end of the program, with its report, exit status and LSAN_OPTIONS.
 * Where the process has a real sanitizer, the functions hand their calls on to it.
 */
#ifndef LSAN_LSAN_H
#define LSAN_LSAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/api.h"
#include "lib/control/control.h"

struct lsan_options {
    unsigned exit_code, leaks_max; /* 0: all leaks */
    bool detect, at_exit, report_objects, print_suppressions;
    bool use_stacks, use_registers, use_globals, use_unaligned;
    char suppressions[256]; /* a file; empty: none */
    char log_path[256];     /* of files for reports; empty: standard error */
};
extern struct lsan_options lsan_options;

/* Reads options: words "key=value" between colons, commas, blanks. NULL: nothing. */
void lsan_options_read(const char *text);

/* Reads the option leak.lsan. */
void lsan_init(void);
void lsan_before_main(void);
/* The program ends. May not return. */
void lsan_exit(void);

/* lsan_report.c: what was found. The number of leaked bytes that no suppression covers. */
uint64_t lsan_report(const struct leak_scan *scan);
/* A line, or some of them, where reports go. */
void lsan_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* lsan_suppress.c: lines leak:PATTERN, from a text that stays. */
void lsan_suppress_add(const char *text);
/* Whether a pattern fits a function or a module; counts it. */
bool lsan_suppress_fits(const char *function, const char *module, uint64_t objects, uint64_t bytes);
/* The patterns that were used. */
void lsan_suppress_print(void);

#endif
