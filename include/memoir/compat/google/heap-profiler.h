/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/heap-profiler.h. */
#include <gperftools/heap-profiler.h>
