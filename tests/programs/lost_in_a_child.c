/* SPDX-License-Identifier: MIT */
/* helper */
/* For programs/lost_blocks_are_found.sh: a process with a large heap of which nothing is lost, and
 * a child that gives it back and loses one block. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wipe.h"

enum { LARGE = 4 << 20 };

static char *keep;

static __attribute__((noinline)) void lose(void)
{
    volatile char *block = malloc(5000);
    block[0] = 1;
}

int main(void)
{
    keep = malloc(LARGE);
    memset(keep, 1, LARGE);
    pid_t child = fork();
    if (child == 0) {
        free(keep);
        keep = NULL;
        lose();
        wipe();
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    memset(keep, 2, LARGE);
    return status;
}
