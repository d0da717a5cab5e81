/* SPDX-License-Identifier: MIT */ /* static-too */
/* Statistics can be asked for in a thread whose stack is small: 16 KiB, as far as the system allows
 * that; jemalloc's report needs 20. */
#include <pthread.h>

#include "memoir/compat/mimalloc.h"
#include "tests/api/arena.h"
#include "tests/api/check.h"
#include "tests/api/stats_text.h"

#pragma weak mi_stats_print_out

enum { STACK = 16 << 10, STACK_REPORT = 20 << 10 };

static void *epoch(void *unused)
{
    uint64_t value = 1;
    size_t length = sizeof value, bytes = 0, size = sizeof bytes;
    CHECK_EQ(mallctl("epoch", &value, &length, &value, sizeof value), 0);
    CHECK_EQ(mallctl("stats.allocated", &bytes, &size, NULL, 0), 0);
    CHECK(bytes > 0);
    return unused;
}

static void nowhere(const char *text, void *length)
{
    *(size_t *)length += strlen(text);
}

static void *mimallocs(void *unused)
{
    size_t length = 0;
    mi_stats_print_out(nowhere, &length);
    CHECK(length > 0);
    return unused;
}

static void *report(void *options)
{
    stats_length = 0;
    malloc_stats_print(stats_collect, NULL, options);
    CHECK(stats_length > 0);
    return NULL;
}

static void in_thread(void *(*ask)(void *), void *argument, size_t stack)
{
    pthread_attr_t about;
    pthread_t thread;
    if (stack < (size_t)sysconf(_SC_THREAD_STACK_MIN))
        stack = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_init(&about);
    CHECK_EQ(pthread_attr_setstacksize(&about, stack), 0);
    CHECK_EQ(pthread_create(&thread, &about, ask, argument), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&about);
}

int main(void)
{
    unsigned arena;
    size_t length = sizeof arena;
    if (mallctl == NULL || mi_stats_print_out == NULL)
        return 77;
    CHECK_EQ(mallctl("arenas.create", &arena, &length, NULL, 0), 0);
    in_thread(epoch, NULL, STACK);
    in_thread(mimallocs, NULL, STACK);
    in_thread(report, "", STACK_REPORT);
    in_thread(report, "J", STACK_REPORT);
    return check_result();
}
