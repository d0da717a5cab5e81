/* SPDX-License-Identifier: MIT */
/* fork from main while other threads are inside malloc and free: parent and child both go on. The
 * child also frees, resizes and reads blocks that those threads, which it does not have, had
 * made. */
#include "tests/programs/work.h"

enum { FORKS = 300, NOISE = 3 };

int main(void)
{
    alarm(100);
    noise_start(NOISE);
    for (unsigned i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (unsigned b = 0; b < NOISE_BLOCKS; b++) {
                void *block = atomic_exchange(&noise_shared[b], NULL);
                free(b % 2 && block != NULL ? realloc(block, 3000) : block);
            }
            child_works(i);
        }
        CHECK(heap_works(i));
        if (!CHECK(child > 0) || !child_ended_well(child)) {
            break;
        }
    }
    noise_end(NOISE);
    CHECK(heap_works(1));
    return check_result();
}
