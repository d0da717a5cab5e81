/* SPDX-License-Identifier: MIT */
/*
 * helper: a process in a state in which it can't or can hardly answer. It says "ready PID" and ends
 * by itself after some seconds. Words:
 *
 *   busy      none of these
 *   zombie    a child of it has ended
 *   headless  its first thread has ended
 *   vfork     its only thread waits for a child
 *   sigwait   its only thread waits for all signals
 *   exec      it hears no signal, and becomes another program when a line comes on standard input
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAY_S = 20 };

static void *stay(void *unused)
{
    void *volatile block;
    for (int i = 0; i < STAY_S * 100; i++) {
        block = malloc(1000);
        free(block);
        usleep(10000);
    }
    _exit(0);
    return unused;
}

static void ready(pid_t pid)
{
    printf("ready %d\n", pid);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "busy";
    pthread_t thread;
    sigset_t deaf, all;
    int number = 0;
    sigfillset(&all);
    if (strcmp(how, "sigwait") == 0)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    sigemptyset(&deaf);
    sigaddset(&deaf, SIGURG);
    if (strcmp(how, "exec") == 0 || strcmp(how, "moment") == 0)
        pthread_sigmask(SIG_BLOCK, &deaf, NULL);
    if (strcmp(how, "chroot") == 0 && (chroot("root") != 0 || chdir("/") != 0))
        return 2;
    if (strcmp(how, "zombie") == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        siginfo_t about;
        waitid(P_PID, (id_t)child, &about, WEXITED | WNOWAIT);
        ready(child);
    } else {
        ready(getpid());
    }
    if (strcmp(how, "headless") == 0 && pthread_create(&thread, NULL, stay, NULL) == 0)
        pthread_exit(NULL);
    if (strcmp(how, "vfork") == 0 && vfork() == 0) {
        sleep(STAY_S);
        _exit(0);
    }
    if (strcmp(how, "sigwait") == 0) {
        alarm(STAY_S);
        sigwait(&all, &number);
        return number == SIGALRM ? 0 : 3;
    }
    char byte;
    if (strcmp(how, "moment") == 0) {
        (void)!read(0, &byte, 1);
        pthread_sigmask(SIG_UNBLOCK, &deaf, NULL);
    }
    if (strcmp(how, "exec") == 0) {
        (void)!read(0, &byte, 1);
        unsetenv("LD_PRELOAD");
        execlp("sleep", "sleep", "20", NULL);
    }
    stay(NULL);
    return 0;
}
