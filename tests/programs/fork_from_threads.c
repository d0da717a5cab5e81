/* SPDX-License-Identifier: MIT */
/* Several threads fork at the same time while others allocate; each child has only the thread that
 * forked. */
#include "tests/programs/work.h"

enum { FORKERS = 3, FORKS = 120, NOISE = 2 };

static void *fork_often(void *number)
{
    for (unsigned i = 0; i < FORKS; i++) {
        void *mine = malloc(100 + i);
        pid_t child = fork();
        if (child == 0) {
            free(mine);
            child_works(i);
        }
        free(mine);
        if (!CHECK(child > 0) || !child_ended_well(child) || !CHECK(heap_works(i))) {
            break;
        }
    }
    return number;
}

int main(void)
{
    pthread_t forkers[FORKERS];
    alarm(110);
    noise_start(NOISE);
    for (int i = 0; i < FORKERS; i++) {
        CHECK_EQ(pthread_create(&forkers[i], NULL, fork_often, NULL), 0);
    }
    for (int i = 0; i < FORKERS; i++) {
        CHECK_EQ(pthread_join(forkers[i], NULL), 0);
    }
    noise_end(NOISE);
    return check_result();
}
