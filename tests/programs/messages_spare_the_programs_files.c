/* SPDX-License-Identifier: MIT */
/*
 * helper: makes descriptor 2 something else, as the first word says, with the file that the second
 * word names; then provokes a message of the library, as the third word says.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern int memoir_dump(const char *path) __attribute__((weak));

static void check(int ok)
{
    if (!ok)
        _exit(9);
}

static void provoke(const char *what)
{
    if (strcmp(what, "stats") == 0) {
        malloc_stats();
    } else if (strcmp(what, "dump") == 0) {
        check(memoir_dump != NULL);
        memoir_dump("missing/folder/x");
    } else if (strcmp(what, "abort") == 0) {
        void *volatile block = malloc(100);
        free(block);
        free(block);
    }
}

int main(int argc, char **argv)
{
    int ends[2], fd = -1;
    check(argc > 3);
    const char *how = argv[1], *path = argv[2];
    if (strcmp(how, "data") == 0) { /* the program's own file, by chance number 2 */
        close(2);
        fd = open(path, O_RDWR | O_CREAT, 0600);
    } else if (strcmp(how, "output") == 0) {
        close(2);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    } else if (strcmp(how, "journal") == 0) {
        close(2);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    } else if (strcmp(how, "first") == 0) { /* it was closed when the program started */
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    } else if (strcmp(how, "socket") == 0) { /* what arrives is written to the file */
        char text[4096];
        close(0);
        close(2);
        check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0 && ends[1] == 2);
        provoke(argv[3]);
        ssize_t got = read(ends[0], text, sizeof text);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        check(got <= 0 || write(fd, text, (size_t)got) == got);
        return 0;
    } else if (strcmp(how, "log") == 0) { /* a log of errors */
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        check(fd > 2 && dup2(fd, 2) == 2 && close(fd) == 0);
        fd = 2;
    } else if (strcmp(how, "daemon") == 0) { /* one log for both */
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        check(fd > 2 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2 && close(fd) == 0);
        fd = 2;
    } else if (strcmp(how, "captured") == 0) { /* as test frameworks collect a child's last words */
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        check(fd > 2 && dup2(fd, 2) == 2 && close(fd) == 0);
        fd = 2;
    } else if (strcmp(how, "captured3") == 0) { /* what is no longer standard error is left alone */
        fd = open(path, O_RDWR | O_CREAT, 0600);
        int other = open("/dev/null", O_RDWR);
        check(fd > 2 && dup3(other, 2, O_CLOEXEC) == 2 && close(other) == 0);
        close(2);
        check(fcntl(fd, F_DUPFD, 2) == 2 && close(fd) == 0);
        fd = 2;
    } else if (strcmp(how, "reopened") == 0) { /* the usual way in C */
        check(freopen(path, "w", stderr) != NULL);
        fd = fileno(stderr);
    } else if (strcmp(how, "same") == 0) {
        fd = 2;
    }
    check(fd == 2);
    provoke(argv[3]);
    return 0;
}
