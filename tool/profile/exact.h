/* SPDX-License-Identifier: MIT */
/* Totals that were counted, not sampled, by the name of their column. */
#ifndef PROFILE_EXACT_H
#define PROFILE_EXACT_H

#include "tool/profile/model.h"

/* The total of a column ("inuse_space", "alloc_objects", ...) as the allocator counted it, whatever
 * the rate of samples was; -1: the profile does not have it. */
int64_t profile_exact(const struct profile *profile, const char *type);

/* A row of a table by thread. */
struct exact_row {
    int64_t id; /* the kernel's tid; EXACT_... */
    int64_t value;
    bool exact; /* false before */
};
enum { EXACT_UNKNOWN = -1, EXACT_OTHER = -2, EXACT_REST = -3 };

/* Whose row the samples with these labels are part of. */
int64_t profile_exact_thread(const struct profile *profile, uint32_t label_set);
/* Rows that add up to all that was allocated, objects or bytes, by the estimates of samples: what a
 * thread's own counters tell takes their place. Rows of what is live, or was live at the peak, stay
 * estimates, none larger than what its thread has allocated. Their sum stays; what no thread is
 * known to have is in the row EXACT_REST. False: nothing was counted by thread, or there is no such
 * row, or memory is out; then they are left as they are. */
bool profile_exact_threads(const struct profile *profile, const char *type, struct exact_row *rows,
                           size_t count);

#endif
