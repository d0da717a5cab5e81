/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/malloc_extension_c.h. */
#include <gperftools/malloc_extension_c.h>
