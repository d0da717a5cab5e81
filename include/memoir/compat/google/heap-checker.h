/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/heap-checker.h. */
#include <gperftools/heap-checker.h>
