/* SPDX-License-Identifier: MIT */
/*
 * The memory of the process beside what came from malloc. Much of the former and little of the
 * latter means that the lists show little of the truth, and why: a heap of its own.
 */
#ifndef REPORT_TEXT_RESIDENT_H
#define REPORT_TEXT_RESIDENT_H

#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"

/* The resident memory of the process at its largest: as the kernel counted it, else the largest
 * point of the series, which may lie beside the peak. 0: not known. */
uint64_t resident_max(const struct profile *profile);
/* A line, or two with advice if most of the memory is not from malloc. `resident_bytes` is what the
 * kernel counted; 0: what the profile has. */
void resident_print(const struct profile *profile, const struct style *style,
                    uint64_t resident_bytes);
/* The same below a table; nothing if most of the memory is from malloc. */
void resident_note(const struct profile *profile, const struct style *style);

#endif
