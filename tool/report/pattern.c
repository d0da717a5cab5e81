/* SPDX-License-Identifier: MIT */
/* See tool/report/pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tool/report/pattern.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/terminal/terminal.h"

enum {
    MATCH_STEPS = 1000000, /* a pattern that backtracks for longer is refused, */
    HEAP_KIB = 20000,      /* and so is one that needs more memory for it */
    TEXT_MAX = 1 << 16,    /* bytes */
};

static pcre2_match_context *limits; /* of every match; made once */

bool view_refuse(struct view_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool view_refuse_function(struct view_error *error, const char *pattern)
{
    error->no_function = true;
    return view_refuse(error, "no function matches '%s'", pattern);
}

bool view_out_of_memory(struct view_error *error)
{
    return view_refuse(error, "%s", error_out_of_memory);
}

/* A capital that stands for itself: not that of \S. */
static bool has_capital(const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' && text[1])
            text++;
        else if (isupper((unsigned char)*text))
            return true;
    }
    return false;
}

bool pattern_make(struct pattern *pattern, const char *what, const char *text,
                  struct view_error *error)
{
    int code;
    PCRE2_SIZE at;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    if (!has_capital(text))
        options |= PCRE2_CASELESS;
    pattern->match = NULL;
    pattern->code = pcre2_compile((PCRE2_SPTR)text, strlen(text), options, &code, &at, NULL);
    if (!pattern->code) {
        char reason[160];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
        return view_refuse(error, "%s '%s' is not a regular expression: %s, at position %zu", what,
                           text, reason, (size_t)at + 1);
    }
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* slower without, but the same */
    if (!limits && (limits = pcre2_match_context_create(NULL)) != NULL) {
        pcre2_set_match_limit(limits, MATCH_STEPS);
        pcre2_set_heap_limit(limits, HEAP_KIB);
    }
    pattern->match = pcre2_match_data_create(1, NULL);
    return (pattern->match && limits) || view_out_of_memory(error);
}

void pattern_free(struct pattern *pattern)
{
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    pattern->match = pattern->code = NULL;
}

bool pattern_fits(const struct pattern *pattern, const char *text)
{
    size_t length = strnlen(text, TEXT_MAX);
    return pcre2_match(pattern->code, (PCRE2_SPTR)text, length, 0, 0, pattern->match, limits) >= 0;
}

bool pattern_memo_start(struct pattern_memo *memo, const struct pattern *pattern,
                        const struct profile *profile)
{
    *memo = (struct pattern_memo){pattern, profile, NULL};
    if (pattern->code)
        memo->answers = calloc(profile->strings.count + 1, 1);
    return !pattern->code || memo->answers;
}

void pattern_memo_free(struct pattern_memo *memo)
{
    free(memo->answers);
    memo->answers = NULL;
}

bool pattern_memo_fits(struct pattern_memo *memo, uint32_t string)
{
    uint8_t *answer = &memo->answers[string];
    if (*answer == 0)
        *answer = pattern_fits(memo->pattern, profile_text(memo->profile, string)) ? 2 : 1;
    return *answer == 2;
}
