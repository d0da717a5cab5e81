/* SPDX-License-Identifier: MIT */
/* Chains: a child that forks a child that forks, double fork as daemons do it, and daemon itself.
 * Each generation starts a thread before it forks, so that each has threads of its own to lose. */
#include "tests/programs/work.h"

enum { DEPTH = 25, TURNS = 12 };

static void generations(void)
{
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        if (!heap_works(depth)) {
            _exit(2);
        }
        noise_start(1);
        pid_t child = fork();
        if (child != 0) {
            noise_end(1);
            _exit(child > 0 && child_ended_well(child) ? 0 : 3);
        }
        alarm(60);
    }
    _exit(0);
}

/* The daemon reports through a pipe, because nobody can wait for it. */
static void daemon_works(bool by_daemon)
{
    int ends[2];
    char verdict = 'x';
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        if (by_daemon) {
            if (daemon(1, 1) != 0) {
                _exit(4);
            }
        } else {
            if (setsid() < 0 || fork() != 0) {
                _exit(0);
            }
        }
        alarm(CHILD_SECONDS);
        char mine = heap_works(5) ? 'y' : 'n';
        if (write(ends[1], &mine, 1) != 1) {
            _exit(4);
        }
        child_works(8);
    }
    close(ends[1]);
    child_ended_well(child);
    CHECK_EQ(read(ends[0], &verdict, 1), 1);
    CHECK_EQ(verdict, 'y');
    close(ends[0]);
}

int main(void)
{
    alarm(100);
    for (int i = 0; i < TURNS && check_failures == 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            generations();
        }
        child_ended_well(child);
        noise_start(2);
        daemon_works(true);
        daemon_works(false);
        noise_end(2);
    }
    return check_result();
}
