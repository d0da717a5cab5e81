/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/malloc_extension.h. */
#include <gperftools/malloc_extension.h>
