/* SPDX-License-Identifier: MIT */
/*
 * gperftools' HEAP_PROFILE_MMAP, HEAP_PROFILE_ONLY_MMAP and HEAP_PROFILE_MMAP_LOG: mappings that
 * the program and its libraries make themselves are blocks of the heap profile, too.
 */
#ifndef GPERFTOOLS_MMAP_PROFILE_H
#define GPERFTOOLS_MMAP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caller;

/* Once, before the program runs. `record`: mappings are recorded; `only`: blocks of malloc are not;
 * `log`: each call is a line on standard error. */
void mmap_profile_start(bool record, bool only, bool log);

/* What mmap_calls.c tells: whole pages were mapped or are no longer; and what a call was. Without
 * effect until the start. */
void mmap_profile_mapped(uintptr_t start, uintptr_t end, const struct caller *caller);
void mmap_profile_unmapped(uintptr_t start, uintptr_t end, const struct caller *caller);
void mmap_profile_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
