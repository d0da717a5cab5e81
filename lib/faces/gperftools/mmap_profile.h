/* SPDX-License-Identifier: MIT */
/*
 * gperftools' HEAP_PROFILE_MMAP, HEAP_PROFILE_ONLY_MMAP and HEAP_PROFILE_MMAP_LOG: mappings that
 * the program and its libraries make themselves are blocks of the heap profile, too.
 */
#ifndef GPERFTOOLS_MMAP_PROFILE_H
#define GPERFTOOLS_MMAP_PROFILE_H

#include <stdbool.h>

/* Once, before the program runs. `record`: mappings are recorded; `only`: blocks of malloc are not;
 * `log`: each call is a line on standard error. */
void mmap_profile_start(bool record, bool only, bool log);
/* More libraries may have been loaded since. */
void mmap_profile_loaded(void);

#endif
