/* SPDX-License-Identifier: MIT */
/*
 * What gperftools' debug allocator says about each error, to the letter: tools and people look for
 * these sentences. The stacks that follow are memoir's (report.h).
 */
#ifndef GUARD_DEBUG_WORDS_H
#define GUARD_DEBUG_WORDS_H

#include "base/print.h"
#include "lib/guard/report.h"

/* The first line, with the option debug, of an error that a call found. False: another one. */
bool debug_headline(struct print *out, const struct guard_report *report);
/* Before the first line of GUARD_WRITTEN: which bytes, and where the block was freed. */
void debug_details(struct print *out, const struct guard_report *report);

#endif
