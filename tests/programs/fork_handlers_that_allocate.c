/* SPDX-License-Identifier: MIT */
/* pthread_atfork handlers that allocate and free, registered before and after the first malloc, so
 * that they run on both sides of any handler of the allocator's. */
#include "tests/programs/work.h"

enum { FORKS = 200, NOISE = 2 };

static void *held[6];
static unsigned prepared, in_parent, in_child;

static void prepare_first(void)
{
    prepared++;
    held[0] = malloc(64);
    free(held[1]);
    held[1] = malloc(70000);
}

static void parent_first(void)
{
    in_parent++;
    free(held[0]);
    held[0] = NULL;
}

static void child_first(void)
{
    in_child++;
    free(held[0]);
    held[2] = calloc(1, 300000);
}

static void prepare_second(void)
{
    prepared++;
    free(held[3]);
    held[3] = malloc(1000);
    held[3] = realloc(held[3], 5000);
}

static void parent_second(void)
{
    in_parent++;
    free(held[4]);
    held[4] = malloc(3000000);
}

static void child_second(void)
{
    in_child++;
    free(held[3]);
    held[3] = NULL;
    if (!heap_works(in_child)) {
        _exit(6);
    }
}

__attribute__((constructor(101))) static void register_before_anything(void)
{
    pthread_atfork(prepare_first, parent_first, child_first);
}

int main(void)
{
    alarm(100);
    CHECK(heap_works(0));
    CHECK_EQ(pthread_atfork(prepare_second, parent_second, child_second), 0);
    noise_start(NOISE);
    for (unsigned i = 0; i < FORKS && check_failures == 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (in_child != 2) {
                _exit(7);
            }
            child_works(i);
        }
        if (CHECK(child > 0)) {
            child_ended_well(child);
        }
    }
    noise_end(NOISE);
    CHECK_EQ(prepared, 2 * FORKS);
    CHECK_EQ(in_parent, 2 * FORKS);
    return check_result();
}
