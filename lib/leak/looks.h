/* SPDX-License-Identifier: MIT */
/* What a lost block looks like, for those that have no stack, and to know others at a glance: its
 * first bytes, and its class if it is a C++ object with virtual functions. */
#ifndef LEAK_LOOKS_H
#define LEAK_LOOKS_H

#include "lib/leak/result.h"

/* Memory that holds tables of virtual functions: not writable, sorted by address. */
struct looks_constants {
    const struct scan_range *ranges;
    unsigned count;
};
bool looks_is_constant(const struct looks_constants *constants, uintptr_t address);
/* Of one block of each row of the result. */
void looks_find(struct scan_result *result, const struct looks_constants *constants);

#endif
