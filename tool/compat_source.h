/* SPDX-License-Identifier: MIT */
/* Sources and machine code of the functions of a report, for the Perl commands. */
#ifndef TOOL_COMPAT_SOURCE_H
#define TOOL_COMPAT_SOURCE_H

#include "tool/compat.h"

struct compat_source {
    const struct compat_stacks *stacks;
    double *flat, *cum; /* by location: each stack once */
    bool *present;      /* by location: some stack has it */
    double total;       /* of flat */
};

/* Whether the location is in the function, and in some stack. */
bool compat_source_in(const struct compat_source *source, const struct symbol_code *code,
                      uint32_t location);
void compat_list(const struct compat_source *source, const struct symbol_code *code);
void compat_disasm(const struct compat_source *source, const struct symbol_code *code);

#endif
