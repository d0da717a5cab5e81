/* SPDX-License-Identifier: MIT */
/* Sources and machine code of the functions of a report, for the Perl commands. */
#ifndef COMPAT_PERL_PERL_SOURCE_H
#define COMPAT_PERL_PERL_SOURCE_H

#include "tool/compat/perl/perl.h"

struct perl_source {
    const struct perl_stacks *stacks;
    double *flat, *cum; /* by location: each stack once */
    bool *present;      /* by location: some stack has it */
    double total;       /* of flat */
};

/* Whether the location is in the function, and in some stack. */
bool perl_source_in(const struct perl_source *source, const struct symbol_code *code,
                    uint32_t location);
void perl_list(const struct perl_source *source, const struct symbol_code *code);
void perl_disasm(const struct perl_source *source, const struct symbol_code *code);

#endif
