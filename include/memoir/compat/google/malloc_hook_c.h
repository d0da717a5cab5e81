/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/malloc_hook_c.h. */
#include <gperftools/malloc_hook_c.h>
