/* SPDX-License-Identifier: MIT */
/* Stands in for parts that are not there yet. */
#include "tool/load.h"

#include <string.h>

__attribute__((weak)) bool profile_merge(struct profile *to, const struct profile *from,
                                         double factor)
{
    (void)to, (void)from, (void)factor;
    return false;
}

__attribute__((weak)) bool symbol_resolve(struct profile *profile,
                                          const struct symbol_options *options,
                                          struct symbol_report *report)
{
    (void)profile, (void)options;
    memset(report, 0, sizeof *report);
    return true;
}

__attribute__((weak)) void symbol_report_free(struct symbol_report *report)
{
    (void)report;
}
