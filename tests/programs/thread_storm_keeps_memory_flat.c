/* SPDX-License-Identifier: MIT */
/* Threads come and go: 10,000 one after the other in groups, joined and detached, ended by return,
 * pthread_exit and cancellation, each leaving blocks that main frees later. The heaps of the ended
 * are used again: resident memory does not grow. */
#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { THREADS = 10000, TOGETHER = 10, WARM_UP = 2000, LEFT = 20, GROWTH_MIB = 6 };

static void *left[TOGETHER][LEFT];
static atomic_int detached_done;

static void leave_blocks(void **place)
{
    void *mine[50];
    for (int i = 0; i < 50; i++) {
        mine[i] = malloc(work_size((unsigned)i));
    }
    for (int i = 0; i < 50; i++) {
        free(mine[i]);
    }
    for (int i = 0; i < LEFT; i++) {
        place[i] = malloc(16u << i % 8);
    }
}

static void *by_return(void *place)
{
    leave_blocks(place);
    return NULL;
}

static void *by_exit(void *place)
{
    leave_blocks(place);
    pthread_exit(place);
}

static void *by_cancellation(void *place)
{
    leave_blocks(place);
    pthread_cleanup_push(free, malloc(3000));
    for (;;) {
        pause();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *detached(void *place)
{
    leave_blocks(place);
    detached_done++;
    return NULL;
}

static void group_run(void)
{
    static void *(*const ways[])(void *) = {by_return, by_exit, by_cancellation, detached};
    pthread_t threads[TOGETHER];
    detached_done = 0;
    int detached_count = 0;
    for (int i = 0; i < TOGETHER; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, ways[i % 4], left[i]), 0);
        if (ways[i % 4] == detached) {
            pthread_detach(threads[i]);
            detached_count++;
        }
    }
    for (int i = 0; i < TOGETHER; i++) {
        if (ways[i % 4] == by_cancellation) {
            pthread_cancel(threads[i]);
        }
        if (ways[i % 4] != detached) {
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        }
    }
    while (detached_done < detached_count) {
        usleep(100);
    }
    for (int i = 0; i < TOGETHER; i++) {
        for (int b = 0; b < LEFT; b++) {
            free(left[i][b]);
            left[i][b] = NULL;
        }
    }
}

int main(int count, char **arguments)
{
    long threads = count > 1 ? atol(arguments[1]) : THREADS;
    size_t warm = 0, max = 0;
    alarm(count > 1 ? 0 : 110);
    for (long started = 0; started < threads; started += TOGETHER) {
        group_run();
        size_t now = resident_bytes();
        if (started < WARM_UP) {
            warm = now > warm ? now : warm;
        } else {
            max = now > max ? now : max;
        }
    }
    CHECK_AT(max <= warm + GROWTH_MIB * MIB,
             "resident %zu KiB after %d threads, up to %zu KiB later", warm / 1024, WARM_UP,
             max / 1024);
    CHECK(heap_works(1));
    return check_result();
}
