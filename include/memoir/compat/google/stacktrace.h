/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/stacktrace.h. */
#include <gperftools/stacktrace.h>
