/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/malloc_hook.h. */
#include <gperftools/malloc_hook.h>
