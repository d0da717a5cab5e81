/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * A process that has no room for signals with values (RLIMIT_SIGPENDING): threads do not learn that
 * they are to stand still. A scan does not wait a second for them, and calls nothing lost.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { THREADS = 4, SCANS = 5, WAIT_US = 500000 };

static int asleep;

static void *sleep_on(void *argument)
{
    void *volatile kept = malloc(100);
    __atomic_fetch_add(&asleep, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    (void)kept;
    return argument;
}

int main(void)
{
    static const struct rlimit none = {0, 0};
    struct memoir_leaks leaks;
    uint64_t min = UINT64_MAX;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, sleep_on, NULL) == 0);
    }
    while (__atomic_load_n(&asleep, __ATOMIC_ACQUIRE) < THREADS)
        usleep(1000);
    CHECK(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
    for (int i = 0; i < SCANS; i++) {
        CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
        CHECK(leaks.silent_threads == THREADS + 1);
        CHECK(leaks.definite.blocks == 0);
        min = leaks.stood_us < min ? leaks.stood_us : min;
    }
    CHECK(min < WAIT_US);
    return check_result();
}
