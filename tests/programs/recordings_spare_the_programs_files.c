/* SPDX-License-Identifier: MIT */
/*
 * helper: a program that closes all descriptors but the first three, as daemons do, and opens a
 * file of its own under all the numbers up to 899. Then it allocates from many stacks, so that
 * what is recorded about it grows. The file must stay as it is.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 16, NUMBERS = 900, DEPTH = 12 };
static char pattern[SIZE], found[SIZE + 1];
static void *volatile last;

/* Two to the power of `depth` stacks. */
__attribute__((noinline)) static void many(int depth)
{
    if (depth == 0) {
        last = malloc(600);
        return;
    }
    many(depth - 1);
    __asm__ volatile("" ::: "memory");
    many(depth - 1);
    __asm__ volatile("" ::: "memory");
}

static double burn(void)
{
    volatile double sum = 0;
    for (int i = 1; i < 100000000; i++)
        sum += 1.0 / i;
    return sum;
}

static int compare(int file)
{
    struct stat about;
    fstat(file, &about);
    if (about.st_size != SIZE || pread(file, found, sizeof found, 0) != SIZE ||
        memcmp(found, pattern, SIZE) != 0) {
        printf("the program's file has changed, %ld bytes\n", (long)about.st_size);
        return 1;
    }
    for (int i = 3; i < NUMBERS; i++)
        if (fcntl(i, F_GETFD) < 0) {
            printf("descriptor %d was closed\n", i);
            return 1;
        }
    return 0;
}

int main(int count, char **words)
{
    (void)count;
    last = malloc(100);
    memset(pattern, 'x', SIZE);
    int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, 3);
    file = 3;
    if (write(file, pattern, SIZE) != SIZE)
        return 2;
    for (int i = 4; i < NUMBERS; i++)
        if (dup2(file, i) != i)
            return 2;
    if (strcmp(words[2], "burn") == 0)
        burn();
    many(DEPTH);
    if (strcmp(words[2], "kill") == 0)
        raise(compare(file) == 0 ? SIGKILL : SIGTERM);
    if (strcmp(words[2], "fork") == 0) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            usleep(50000);
            many(DEPTH);
            _exit(compare(file));
        }
        waitpid(child, &status, 0);
        if (status != 0)
            return 1;
    }
    return compare(file);
}
