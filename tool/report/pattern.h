/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions of users: PCRE2, compiled to machine code, with limits on the work of a
 * match. They ignore case unless they have a capital. The strings of a profile are matched once
 * each: a memo keeps the answers by the number of the string.
 */
#ifndef REPORT_PATTERN_H
#define REPORT_PATTERN_H

#include "tool/report/view.h"

struct pattern {
    void *code, *match; /* NULL: there is none */
};

struct pattern_memo {
    const struct pattern *pattern;
    const struct profile *profile;
    uint8_t *answers; /* by string: 0 not known, 1 no, 2 yes */
};

/* `what` is the name of the option, for the error. Pair with pattern_free, also after an error. */
bool pattern_make(struct pattern *pattern, const char *what, const char *text,
                  struct view_error *error);
void pattern_free(struct pattern *pattern);
bool pattern_fits(const struct pattern *pattern, const char *text);

/* False when memory is out. */
bool pattern_memo_start(struct pattern_memo *memo, const struct pattern *pattern,
                        const struct profile *profile);
void pattern_memo_free(struct pattern_memo *memo);
bool pattern_memo_fits(struct pattern_memo *memo, uint32_t string);

/* For view_make and its helpers: false, and the error is filled in. */
bool view_refuse(struct view_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool view_refuse_function(struct view_error *error, const char *pattern);
bool view_out_of_memory(struct view_error *error);

#endif
