/* SPDX-License-Identifier: MIT */
/*
 * helper: a program to be ended by a signal, with 80 KB of heap. The word says what it does
 * meanwhile: nothing (`idle`), allocate (`busy`, `threads`), start others (`children`), leave its
 * terminal (`daemon`), handle SIGINT and then no longer (`handler`).
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *kept[100];
static volatile sig_atomic_t seen;

static void on_signal(int number)
{
    seen = number;
}

static void *busy(void *unused)
{
    for (;;) {
        void *volatile small = malloc(100), *volatile large = malloc(100000);
        free(small);
        free(large);
    }
    return unused;
}

/* Which of the three signals a child has a handler for, as the kernel says. */
static void child_look(const char *how, pid_t child)
{
    char line[64] = "";
    waitpid(child, NULL, 0);
    FILE *file = fopen("caught", "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL && strlen(line) > 8)
        printf("caught in a child, %s: %llx\n", how,
               strtoull(line + 7, NULL, 16) & (1ull << 0 | 1ull << 1 | 1ull << 14));
    if (file != NULL)
        fclose(file);
    unlink("caught");
}

static void children(void)
{
    char *words[] = {"sh", "-c", "grep SigCgt /proc/self/status >caught", NULL};
    pid_t child;
    unsetenv("LD_PRELOAD"); /* it would set handlers of its own */
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0)
        child_look("spawned", child);
    child = vfork();
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        execvp(words[0], words);
        _exit(1);
    }
    child_look("after vfork", child);
    child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_DFL);
        execvp(words[0], words);
        _exit(1);
    }
    child_look("after fork", child);
    if (system(words[2]) == 0)
        child_look("of system", 0);
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "idle";
    pthread_t thread;
    for (int i = 0; i < 100; i++)
        kept[i] = memset(malloc(800), 1, 800);
    if (strcmp(way, "handler") == 0)
        signal(SIGINT, on_signal);
    if (strcmp(way, "daemon") == 0 && daemon(1, 1) != 0)
        return 1;
    if (strcmp(way, "threads") == 0)
        for (int i = 0; i < 4; i++)
            pthread_create(&thread, NULL, busy, NULL);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    if (strcmp(way, "children") == 0)
        children();
    fflush(stdout);
    if (strcmp(way, "busy") == 0)
        busy(NULL);
    for (int times = 0; strcmp(way, "handler") == 0 && times < 2; times += seen != 0) {
        seen = 0;
        pause();
        printf("handled %d\n", (int)seen);
        fflush(stdout);
    }
    signal(SIGINT, SIG_DFL);
    for (;;)
        pause();
}
