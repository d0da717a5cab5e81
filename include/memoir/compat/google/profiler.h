/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/profiler.h. */
#include <gperftools/profiler.h>
