/* SPDX-License-Identifier: MIT */
/* A child of the bare system call goes on with threads of its own, as browsers' helpers do: the
 * thread that forked may stay on the hot path, so that a new thread is the first to come by in the
 * allocator's slow code. It must not take the heap of the thread that forked for one that a thread
 * left behind in the parent. */
#include <signal.h>
#include <sys/syscall.h>

#include "tests/programs/work.h"

enum { FORKS = 12, THREADS = 4, SLOTS = 2000, TURNS = 60000, LEAST = 100, NOISE = 2 };

struct work {
    unsigned char *slots[SLOTS];
    unsigned number;
    bool good;
};

/* Blocks that carry the number of their owner. Their sizes are also those of what libc allocates
 * for a thread: the thread that forked has them at hand. */
static void turn(struct work *work, unsigned *random)
{
    *random = *random * 1103515245u + 12345u;
    unsigned char **slot = &work->slots[(*random >> 8) % SLOTS];
    if (*slot == NULL) {
        if ((*slot = malloc(LEAST + (*random >> 20) % 300)) == NULL)
            abort();
        (*slot)[0] = (*slot)[LEAST - 1] = (unsigned char)work->number;
        return;
    }
    work->good &= (*slot)[0] == work->number && (*slot)[LEAST - 1] == work->number;
    (*slot)[0] = 255;
    free(*slot);
    *slot = NULL;
}

static void *run(void *argument)
{
    struct work *work = argument;
    unsigned random = work->number;
    for (unsigned i = 0; i < TURNS; i++)
        turn(work, &random);
    return NULL;
}

static struct work works[1 + THREADS];

static void child(void)
{
    pthread_t threads[THREADS];
    bool good = true;
    alarm(CHILD_SECONDS);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, &works[1 + i]) != 0)
            syscall(SYS_exit_group, 3);
    run(&works[0]);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i <= THREADS; i++)
        good &= works[i].good;
    syscall(SYS_exit_group, good && heap_works(5) ? 0 : 2);
}

int main(void)
{
    alarm(100);
    for (unsigned i = 0; i <= THREADS; i++) {
        works[i].number = i + 1;
        works[i].good = true;
    }
    for (unsigned i = 0; i < FORKS && check_failures == 0; i++) {
        if (i % 2 != 0)
            noise_start(NOISE);
        run(&works[0]); /* bins are warm */
        long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0)
            child();
        if (CHECK(pid > 0))
            child_ended_well((pid_t)pid);
        if (i % 2 != 0)
            noise_end(NOISE);
    }
    return check_result();
}
