/* SPDX-License-Identifier: MIT */
/* Thread-specific destructors that allocate, free and set themselves again, in every round that
 * POSIX grants; keys made before and after the library's own. What they leave is freed by main
 * after the thread is gone. */
#include <limits.h>

#include "tests/programs/work.h"

enum { KEYS = 40, THREADS = 300, LEFT_MAX = KEYS * PTHREAD_DESTRUCTOR_ITERATIONS };

static pthread_key_t keys[KEYS];
static atomic_int runs;
static void *left[LEFT_MAX];
static atomic_int left_count;

static void destroy(void *value)
{
    unsigned char *block = value;
    unsigned round = block[1];
    runs++;
    if (block[0] != 0xA5 || !heap_works(round)) {
        CHECK(!"a destructor's heap");
    }
    int place = left_count++;
    left[place] = malloc(100 + (size_t)place);
    free(block);
    if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        unsigned char *next = malloc(32 + round * 1000);
        next[0] = 0xA5;
        next[1] = (unsigned char)(round + 1);
        next[2] = 0;
        for (int i = 0; i < KEYS; i++) {
            if (pthread_getspecific(keys[i]) == NULL && block != NULL) {
                pthread_setspecific(keys[i], next);
                return;
            }
        }
        free(next);
    }
}

static void *set_all(void *unused)
{
    for (int i = 0; i < KEYS; i += 4) {
        unsigned char *block = malloc(64);
        block[0] = 0xA5;
        block[1] = 0;
        pthread_setspecific(keys[i], block);
    }
    return unused;
}

static void *set_without_allocating(void *block)
{
    pthread_setspecific(keys[0], block);
    return NULL;
}

int main(void)
{
    alarm(100);
    for (int i = 0; i < KEYS; i++) {
        CHECK_EQ(pthread_key_create(&keys[i], destroy), 0);
    }
    for (int turn = 0; turn < THREADS; turn++) {
        pthread_t thread;
        left_count = runs = 0;
        unsigned char *block = malloc(64);
        memset(block, 0xA5, 64);
        block[1] = 0;
        bool quiet = turn % 3 == 0;
        CHECK_EQ(pthread_create(&thread, NULL, quiet ? set_without_allocating : set_all, block), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK(runs >= (quiet ? PTHREAD_DESTRUCTOR_ITERATIONS : KEYS / 4));
        for (int i = 0; i < left_count; i++) {
            free(left[i]);
        }
        if (!quiet) {
            free(block);
        }
    }
    CHECK(heap_works(1));
    return check_result();
}
