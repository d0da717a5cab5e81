/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * A thread that is ready to run, and gets no processor for seconds, is waited for: it was once
 * taken for one that does not answer, and what its registers and its ended neighbours' stacks held
 * had the wrong verdict. A scan that takes too long is refused; none may call the thread silent.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { BUSY = 4, SCANS = 4, WAIT_US = 1000 };

static volatile int beside, ready;

static void pin(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(beside, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static pid_t spin(void)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin();
    for (;;)
        ;
}

/* The kernel gives such a thread the time that no other one wants, and a little more. */
static void *run_rarely(void *argument)
{
    struct sched_param none = {0};
    pin();
    /* By number: musl's function refuses. */
    CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &none) == 0);
    ready = 1;
    for (;;)
        pause();
    return argument;
}

int main(void)
{
    cpu_set_t allowed;
    pthread_t thread;
    pid_t busy[BUSY];
    struct memoir_leaks leaks;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    if (CPU_COUNT(&allowed) < 2) {
        puts("one processor: skipped");
        return 77;
    }
    while (!CPU_ISSET(beside, &allowed))
        beside++;
    CHECK(pthread_create(&thread, NULL, run_rarely, NULL) == 0);
    while (!ready)
        usleep(WAIT_US);
    for (int i = 0; i < BUSY; i++)
        busy[i] = spin();
    for (int i = 0; i < SCANS; i++) {
        if (!memoir_leaks(&leaks, sizeof leaks, NULL, NULL))
            continue;
        CHECK_EQ(leaks.threads, 2);
        CHECK_EQ(leaks.silent_threads, 0);
    }
    for (int i = 0; i < BUSY; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    return check_result();
}
