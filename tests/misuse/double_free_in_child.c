/* SPDX-License-Identifier: MIT */
/* expect=double_free */
/* The parent freed the block before fork, the child frees it again. */
#include "tests/misuse/misuse.h"

#include <signal.h>

int main(void)
{
    void *block = malloc(64);
    free(opaque(block));
    pid_t child = fork();
    if (child == 0) {
        wrong();
        free(opaque(block));
        return survived();
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
        abort();
    }
    return 2;
}
