/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * A scan does not wait for a thread that a debugger has stopped: in a call, or on its way to the
 * handler of the scan's signal. It is one that does not answer, and goes on when the debugger has
 * left.
 */
#define _GNU_SOURCE
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/check.h"

/* Without an answer, the scan once waited for a second. */
enum { TRIES = 5, STOOD_US = 700000, SKIPPED = 77 };

static int bytes[2];
static volatile pid_t reader;

static void *read_one(void *argument)
{
    char byte;
    reader = (pid_t)syscall(SYS_gettid);
    CHECK(read(bytes[0], &byte, 1) == 1);
    return argument;
}

/* Traces the thread until the program closes its end of `leave`. */
static pid_t debugger_start(bool stops, int leave[2])
{
    int ready[2];
    char byte = 0;
    CHECK(pipe(ready) == 0 && pipe(leave) == 0);
    pid_t debugger = fork();
    if (debugger == 0) {
        close(leave[1]);
        bool traces = ptrace(PTRACE_SEIZE, reader, NULL, NULL) == 0;
        if (traces && stops) {
            ptrace(PTRACE_INTERRUPT, reader, NULL, NULL);
            waitpid(reader, NULL, __WALL);
        }
        CHECK(write(ready[1], traces ? "t" : "f", 1) == 1);
        read(leave[0], &byte, 1);
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    close(leave[0]);
    if (byte != 't')
        exit(SKIPPED);
    return debugger;
}

static void scan_beside(bool stops)
{
    int leave[2];
    struct memoir_leaks leaks = {0};
    uint64_t stood_us = UINT64_MAX;
    pid_t debugger = debugger_start(stops, leave);
    for (int i = 0; i < TRIES && stood_us > STOOD_US; i++) {
        CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
        CHECK(leaks.silent_threads == 1);
        stood_us = leaks.stood_us;
    }
    if (stood_us > STOOD_US)
        printf("%s: stood for %lu us\n", stops ? "in a call" : "on its way to the handler",
               (unsigned long)stood_us);
    CHECK(stood_us <= STOOD_US);
    close(leave[1]);
    CHECK(waitpid(debugger, NULL, 0) == debugger);
}

int main(void)
{
    pthread_t thread;
    struct memoir_leaks leaks;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    CHECK(pipe(bytes) == 0);
    CHECK(pthread_create(&thread, NULL, read_one, NULL) == 0);
    while (reader == 0)
        usleep(1000);
    usleep(50000);
    scan_beside(true);
    scan_beside(false);
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL) && leaks.silent_threads == 0);
    CHECK(write(bytes[1], "x", 1) == 1);
    pthread_join(thread, NULL);
    return check_result();
}
