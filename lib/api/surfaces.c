/* SPDX-License-Identifier: MIT */
/* See lib/api/surfaces.h. */
#include "lib/api/surfaces.h"

#include "lib/api/gperftools.h"
#include "lib/api/jemalloc.h"

/* gperftools comes last: it needs every block, which includes what jemalloc's options ask for. */
void surfaces_init(void)
{
    jemalloc_init();
    gperftools_init();
}

void surfaces_ready(void)
{
    jemalloc_ready();
    gperftools_ready();
}

/* jemalloc's may end the process, so it comes last. */
void surfaces_exit(void)
{
    gperftools_exit();
    jemalloc_exit();
}
