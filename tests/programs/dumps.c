/* SPDX-License-Identifier: MIT */
/* helper: a program that allocates, for the scripts about dumps. Its words are done in their order:
 *   grow N      N MiB in blocks of 64 KiB      shrink N   frees as much, the youngest first
 *   fail        asks for more than there is    fork       the rest is done in a child, waited for
 *   threads     four threads allocate meanwhile, to the end
 *   wait        until SIGTERM comes            close      every descriptor from 0 on
 *   exec        itself, with the rest          quit       _exit
 *   storm N     N times SIGUSR1, and a child that allocates and exits after each tenth
 *   dump FILE, mark NAME, snapshot, start, stop: the calls of memoir.h, if they are there
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memoir/memoir.h"

#pragma weak memoir_dump
#pragma weak memoir_mark
#pragma weak memoir_snapshot
#pragma weak memoir_start
#pragma weak memoir_stop

enum { BLOCK = 64 << 10, BLOCKS = 1 << 16, PER_MIB = 16 };

static void *blocks[BLOCKS];
static unsigned count;

static void grow(unsigned mib)
{
    for (unsigned i = 0; i < mib * PER_MIB && count < BLOCKS; i++) {
        blocks[count] = malloc(BLOCK);
        memset(blocks[count++], 'x', 100);
    }
}

static void shrink(unsigned mib)
{
    for (unsigned i = 0; i < mib * PER_MIB && count > 0; i++)
        free(blocks[--count]);
}

static void *churn(void *unused)
{
    (void)unused;
    for (unsigned i = 0;; i++)
        free(malloc(i % 5000));
    return NULL;
}

static volatile sig_atomic_t told;

static void on_signal(int number)
{
    (void)number;
    told = 1;
}

/* SIGTERM ends the waiting; other signals are the library's. */
static void wait_for_signal(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    puts("waiting");
    fflush(stdout);
    while (!told)
        usleep(5000);
}

static void storm(unsigned times)
{
    for (unsigned i = 1; i <= times; i++) {
        kill(getpid(), SIGUSR1);
        free(malloc(i));
        if (i % 10 != 0)
            continue;
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            grow(3);
            exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0)
            printf("a child ended with status %#x\n", (unsigned)status);
    }
}

static int failed(int code, const char *what)
{
    if (code != 0)
        printf("%s: %d\n", what, code);
    return 0;
}

int main(int arguments, char **words)
{
    for (int i = 1; i < arguments; i++) {
        const char *word = words[i], *next = i + 1 < arguments ? words[i + 1] : "";
        pthread_t thread;
        if (strcmp(word, "grow") == 0) {
            grow((unsigned)atoi(next));
            i++;
        } else if (strcmp(word, "shrink") == 0) {
            shrink((unsigned)atoi(next));
            i++;
        } else if (strcmp(word, "fail") == 0) {
            void *volatile none = malloc((size_t)1 << 46);
            free(none);
        } else if (strcmp(word, "fork") == 0) {
            pid_t child = fork();
            int status = 0;
            if (child != 0)
                return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
        } else if (strcmp(word, "threads") == 0) {
            for (int n = 0; n < 4; n++)
                pthread_create(&thread, NULL, churn, NULL);
        } else if (strcmp(word, "wait") == 0) {
            wait_for_signal();
        } else if (strcmp(word, "storm") == 0) {
            storm((unsigned)atoi(next));
            i++;
        } else if (strcmp(word, "close") == 0) {
            for (int fd = 0; fd < 1024; fd++)
                close(fd);
        } else if (strcmp(word, "exec") == 0) {
            words[i] = words[0];
            execv("/proc/self/exe", words + i);
            return 1;
        } else if (strcmp(word, "quit") == 0) {
            _exit(0);
        } else if (strcmp(word, "dump") == 0) {
            failed(memoir_dump(next), "dump");
            i++;
        } else if (strcmp(word, "mark") == 0) {
            failed(memoir_mark(next), "mark");
            i++;
        } else if (strcmp(word, "snapshot") == 0) {
            failed(memoir_snapshot(NULL), "snapshot");
        } else if (strcmp(word, "start") == 0) {
            memoir_start(0);
        } else if (strcmp(word, "stop") == 0) {
            memoir_stop();
        } else {
            printf("no word %s\n", word);
            return 2;
        }
    }
    return 0;
}
