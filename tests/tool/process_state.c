/* SPDX-License-Identifier: MIT */
/* one-thread */
/*
 * The state of a process of many threads: known after a look at one of them if that can run, and
 * only if all of them are stopped called so. Readings are counted, since a busy machine may take
 * milliseconds for each.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "tool/process/process.h"

enum { THREADS = 200, READS_MAX = 20 };

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static pid_t crowd(void)
{
    int ready[2];
    char byte;
    assert(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 0; i < THREADS; i++)
            if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
                _exit(77);
        if (write(ready[1], "!", 1) == 1)
            wait_for_ever(NULL);
        _exit(1);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        exit(77);
    close(ready[0]);
    return child;
}

/* Calls of read so far. */
static long reads(void)
{
    char line[64];
    long count = -1;
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "syscr: %ld", &count);
    if (file)
        fclose(file);
    return count;
}

static char state_after(pid_t child, char wanted)
{
    char state = process_state(child);
    for (unsigned i = 0; i < 500 && state != wanted; i++) {
        usleep(10000);
        state = process_state(child);
    }
    return state;
}

int main(void)
{
    pid_t child = crowd();
    long before = reads();
    char state = process_state(child);
    long after = reads();
    assert(state == 'S' || state == 'R' || state == '?');
    assert(before < 0 || after - before <= READS_MAX); /* -1: the kernel does not count */
    kill(child, SIGSTOP);
    assert(state_after(child, 'T') == 'T');
    kill(child, SIGCONT);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert(process_state(child) == 0);
    return 0;
}
