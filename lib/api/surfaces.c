/* SPDX-License-Identifier: MIT */
/* See lib/api/surfaces.h. */
#include "lib/api/surfaces.h"

#include <stddef.h>

#include "base/compiler.h"
#include "lib/api/environment.h"
#include "lib/api/gperftools.h"
#include "lib/api/jemalloc.h"
#include "lib/api/notice.h"

/* gperftools comes last: it needs every block, which includes what jemalloc's options ask for. */
void surfaces_init(void)
{
    static const char *const ours[] = {"MALLOC_CONF",       "JE_MALLOC_CONF", "HEAPPROFILE",
                                       "HEAPPROFILESIGNAL", "MALLOCSTATS",    "HEAPCHECK"};
    jemalloc_init();
    gperftools_init();
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        environment_hide(ours[i]);
}

/* Constructors of preloaded libraries run after all others, so other allocators have seen what
 * they may see. */
__attribute__((constructor)) static void before_main(void)
{
    environment_show();
    notice_start();
    gperftools_before_main();
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
    notice_exit();
    jemalloc_exit();
}
