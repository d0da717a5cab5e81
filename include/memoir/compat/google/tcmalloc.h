/* SPDX-License-Identifier: MIT */
/* The older place of gperftools/tcmalloc.h. */
#include <gperftools/tcmalloc.h>
