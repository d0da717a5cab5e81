/* SPDX-License-Identifier: MIT */
/*
 * helper: has an alternate stack for signals of the size that it is told, in the middle of painted
 * memory, and works until there is a file `stop`. It fails if anything wrote below that stack.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAINT = 0xa7, BELOW = 64 << 10, TURNS = 6000, TURN_US = 10000 };
static unsigned char memory[2 * BELOW];

int main(int argc, char **argv)
{
    void *volatile block;
    stack_t stack = {.ss_sp = memory + BELOW, .ss_size = (size_t)atoi(argv[argc - 1])};
    memset(memory, PAINT, sizeof memory);
    if (sigaltstack(&stack, NULL) != 0) {
        printf("refused\n");
        return 77;
    }
    printf("ready\n");
    fflush(stdout);
    for (int i = 0; i < TURNS && access("stop", F_OK) != 0; i++) {
        block = malloc(1000);
        free(block);
        usleep(TURN_US);
    }
    for (size_t i = 0; i < BELOW; i++)
        if (memory[i] != PAINT)
            return 3;
    return 0;
}
