/* SPDX-License-Identifier: MIT */
/* The old commands' pictures, and the programs that they show them with. */
#include "tool/compat.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void compat_open(const char *viewer, const char *path)
{
    char *words[] = {(char *)viewer, (char *)path, NULL};
    pid_t child;
    if (posix_spawnp(&child, viewer, NULL, NULL, words, environ) != 0)
        fprintf(stderr, "%s is not installed; the file is %s\n", viewer, path);
}

void compat_picture(const struct compat_stacks *stacks, enum compat_option how)
{
    (void)how;
    if (!compat_print_dot(stacks, stdout))
        compat_end(1);
}

void compat_source(const struct compat_stacks *stacks, enum compat_option how, const char *pattern)
{
    (void)stacks, (void)how, (void)pattern;
}
