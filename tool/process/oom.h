/* SPDX-License-Identifier: MIT */
/* How many processes the kernel has ended because memory was out, in the cgroup of this one. */
#ifndef PROCESS_OOM_H
#define PROCESS_OOM_H

#include <stdint.h>

/* 0 also where the kernel does not tell. */
uint64_t oom_kills(void);

#endif
