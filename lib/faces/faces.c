/* SPDX-License-Identifier: MIT */
/* See lib/api/init.h: faces_init and its relatives. */
#include <stddef.h>

#include "base/compiler.h"
#include "lib/api/api.h"
#include "lib/faces/gperftools/cpuprofile.h"
#include "lib/faces/gperftools/debug_allocator.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/gperftools/heap_checker.h"
#include "lib/faces/gperftools/mmap_calls.h"
#include "lib/faces/jemalloc/background.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/lsan/lsan.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/faces/notice.h"

/* gperftools comes last: it records every block, which covers what jemalloc's options ask for. */
void faces_init(void)
{
    static const char *const ours[] = {"MALLOC_CONF",       "JE_MALLOC_CONF",  "HEAPPROFILE",
                                       "HEAPPROFILESIGNAL", "MALLOCSTATS",     "HEAPCHECK",
                                       "CPUPROFILE",        "CPUPROFILESIGNAL"};
    jemalloc_init();
    mimalloc_init();
    gperftools_init();
    debug_allocator_init();
    lsan_init();
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        environment_hide(ours[i]);
}

/* The loader runs the constructors of preloaded libraries last, so other allocators have read their
 * variables by now. */
__attribute__((constructor)) static void before_main(void)
{
    environment_show();
    notice_start();
    mimalloc_before_main();
    background_before_main();
    gperftools_before_main();
    lsan_before_main();
    cpuprofile_before_main();
}

void faces_ready(void)
{
    jemalloc_ready();
    gperftools_ready();
}

/* The last three may end the process. */
void faces_exit(void)
{
    cpuprofile_exit();
    gperftools_exit();
    notice_exit();
    mimalloc_exit();
    jemalloc_exit();
    heap_checker_exit();
    lsan_exit();
}

void faces_loaded(void)
{
    mmap_calls_loaded();
}
