/* SPDX-License-Identifier: MIT */
/*
 * helper: a program that may no longer read the processor's time stamp counter goes on allocating.
 * The word: strict, seccomp's strict mode, which allows read, write and exit alone; or tsc. Exit
 * status 0, or 77 if the machine has no such thing.
 */
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 500, ROUNDS = 200000, LARGEST = 1500 };

static void work(void)
{
    static void *blocks[BLOCKS];
    static unsigned random = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1103515245u + 12345u;
        unsigned i = (random >> 8) % BLOCKS;
        free(blocks[i]);
        blocks[i] = malloc(1 + (random >> 12) % LARGEST);
        if (blocks[i] == NULL)
            syscall(SYS_exit, 1);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

int main(int count, char **words)
{
    bool strict = count > 1 && strcmp(words[1], "strict") == 0;
    work();
    if ((strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) !=
        0)
        return 77;
    work();
    syscall(SYS_exit, 0);
}
