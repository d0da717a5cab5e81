/* SPDX-License-Identifier: MIT */
/*
 * How much memory the process may have: the lowest of the limits of its control group and all its
 * ancestors, in either version of control groups, and of the limit on its address space.
 */
#ifndef DUMP_MEMORY_LIMIT_H
#define DUMP_MEMORY_LIMIT_H

#include <stdint.h>

/* UINT64_MAX: no limit. `proc` is "/proc/self" except in tests; `root` is put before mount points.
 */
uint64_t memory_limit(const char *proc, const char *root);

#endif
