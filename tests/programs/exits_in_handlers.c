/* SPDX-License-Identifier: MIT */
/*
 * helper: a signal handler ends the program by exit while it allocates, ARGUMENT microseconds after
 * its start. Exit status 0.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { BLOCKS = 100 };

static void leave(int number)
{
    (void)number;
    exit(0);
}

int main(int count, char **words)
{
    static char *volatile blocks[BLOCKS];
    struct itimerval once = {.it_value.tv_usec = count > 1 ? atoi(words[1]) : 1};
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &once, NULL);
    for (unsigned round = 0;; round++) {
        unsigned i = round * 7 % BLOCKS;
        size_t size = round * 37 % (round % 8 == 0 ? 20000 : 500) + 1;
        if (round % 3 == 0) {
            blocks[i] = realloc(blocks[i], size);
        } else {
            free(blocks[i]);
            blocks[i] = malloc(size);
        }
        memset(blocks[i], 1, size);
    }
}
