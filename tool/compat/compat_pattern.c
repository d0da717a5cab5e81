/* SPDX-License-Identifier: MIT */
/* The regular expressions of the old commands: PCRE2's, which have what Perl's and Go's have. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tool/compat/compat.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

struct compat_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
};

struct compat_pattern *compat_pattern(const char *text)
{
    struct compat_pattern *pattern = compat_room(NULL, 1, sizeof *pattern);
    int error;
    PCRE2_SIZE offset;
    *pattern = (struct compat_pattern){0};
    if (text[0] == '\0')
        return pattern;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &error, &offset, NULL);
    if (!pattern->code) {
        PCRE2_UCHAR reason[120];
        pcre2_get_error_message(error, reason, sizeof reason);
        compat_fail("parsing regexp `%s`: %s at its character %zu", text, (const char *)reason,
                    (size_t)offset + 1);
    }
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    if (!pattern->match)
        compat_out_of_memory();
    return pattern;
}

bool compat_pattern_fits(const struct compat_pattern *pattern, const char *text)
{
    return !pattern->code || pcre2_match(pattern->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0,
                                         0, pattern->match, NULL) >= 0;
}

char *compat_pattern_take(const struct compat_pattern *pattern, const char *text)
{
    if (pcre2_match(pattern->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, pattern->match,
                    NULL) < 2)
        return NULL;
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(pattern->match);
    char *taken = strndup(text + ends[2], ends[3] - ends[2]);
    if (!taken)
        compat_out_of_memory();
    return taken;
}

void compat_pattern_free(struct compat_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    free(pattern);
}
