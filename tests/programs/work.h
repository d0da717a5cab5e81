/* SPDX-License-Identifier: MIT */
/* What the scenario programs share: `heap_works` uses the heap in all sizes and says whether it
 * behaved; `child_works` is that in a forked child; `noise_start` keeps other threads inside malloc
 * and free. A hang is found by alarm, whose default action ends the process and fails the test;
 * children set their own. */
#ifndef TESTS_PROGRAMS_WORK_H
#define TESTS_PROGRAMS_WORK_H

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "tests/api/check.h"

enum { WORK_BLOCKS = 120, CHILD_SECONDS = 30, NOISE_MAX = 8, NOISE_BLOCKS = 64 };

static inline size_t work_size(unsigned i)
{
    return i % 40 == 39 ? 200000u + i * 1000u : i % 10 == 9 ? 5000u + i * 100u : 1u + i * 7u;
}

enum verdict { WORKS, REFUSED, BROKEN };

/* WORKS if every block could be had, kept its contents and came zeroed from calloc; REFUSED if
 * malloc said that there is no memory, in good order. */
__attribute__((unused)) static enum verdict heap_verdict(unsigned seed)
{
    unsigned char *blocks[WORK_BLOCKS];
    enum verdict verdict = WORKS;
    unsigned count = 0;
    for (; count < WORK_BLOCKS; count++) {
        size_t size = work_size(count + seed % 13);
        errno = ERRNO_UNTOUCHED;
        blocks[count] = count % 3 ? malloc(size) : calloc(1, size);
        if (blocks[count] == NULL) {
            verdict = errno == ENOMEM ? REFUSED : BROKEN;
            break;
        }
        if (malloc_usable_size(blocks[count]) < size ||
            (count % 3 == 0 && first_other_byte(blocks[count], size, 0) != size)) {
            verdict = BROKEN;
        }
        pattern_fill(blocks[count], size < 3000 ? size : 3000, seed + count);
    }
    for (unsigned i = 0; i < count; i++) {
        size_t size = work_size(i + seed % 13), kept = size < 3000 ? size : 3000;
        unsigned char *larger = i % 4 == 0 ? realloc(blocks[i], size * 2) : blocks[i];
        if (larger == NULL) {
            verdict = verdict == WORKS ? REFUSED : verdict;
        } else {
            blocks[i] = larger;
        }
        if (pattern_differs_at(blocks[i], kept, seed + i) != kept) {
            verdict = BROKEN;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        free(blocks[count - 1 - i]);
    }
    return verdict;
}

__attribute__((unused)) static bool heap_works(unsigned seed)
{
    return heap_verdict(seed) == WORKS;
}

__attribute__((unused)) static void *thread_works(void *good)
{
    *(bool *)good = heap_works(77);
    return NULL;
}

/* In a child: the heap works, here and in a new thread. Does not return. */
__attribute__((unused)) static void child_works(unsigned seed)
{
    alarm(CHILD_SECONDS);
    bool good = heap_works(seed), in_thread = false;
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_works, &in_thread) != 0 ||
        pthread_join(thread, NULL) != 0) {
        _exit(4);
    }
    _exit(!good ? 2 : !in_thread ? 3 : 0);
}

/* Waits for a child that must end with 0. */
__attribute__((unused)) static bool child_ended_well(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    CHECK_AT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d %s %d", (int)child,
             WIFSIGNALED(status) ? "was ended by signal" : "exited with",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Threads that allocate, free, hand blocks to each other and realloc until told to stop. */
static atomic_bool noise_stop;
static void *_Atomic noise_shared[NOISE_BLOCKS];
static pthread_t noise_threads[NOISE_MAX];

__attribute__((unused)) static void *noise_run(void *number)
{
    unsigned turn = (unsigned)(uintptr_t)number * 7919u;
    while (!noise_stop) {
        turn = turn * 1103515245u + 12345u;
        size_t size = turn >> 16 & 63 ? (turn >> 8 & 2047) + 1 : (turn >> 8 & 0xFFFFF) + 1;
        char *block = malloc(size);
        if (block == NULL) {
            abort();
        }
        block[0] = (char)turn;
        if (turn >> 20 & 1) {
            block = realloc(block, size / 2 + 100);
        }
        free(atomic_exchange(&noise_shared[turn >> 24 & (NOISE_BLOCKS - 1)], block));
    }
    return NULL;
}

__attribute__((unused)) static void noise_start(unsigned count)
{
    noise_stop = false;
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ(pthread_create(&noise_threads[i], NULL, noise_run, (void *)(uintptr_t)(i + 1)), 0);
    }
}

__attribute__((unused)) static void noise_end(unsigned count)
{
    noise_stop = true;
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ(pthread_join(noise_threads[i], NULL), 0);
    }
    for (unsigned i = 0; i < NOISE_BLOCKS; i++) {
        free(atomic_exchange(&noise_shared[i], NULL));
    }
}

#endif
