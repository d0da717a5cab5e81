/* SPDX-License-Identifier: MIT */
/* A signal handler that interrupted malloc, free or realloc at a random instruction forks. The
 * child returns from the handler, so it finishes the interrupted call and goes on; the parent
 * likewise. Other threads allocate meanwhile. */
#include <signal.h>
#include <sys/time.h>

#include "tests/programs/work.h"

enum { FORKS = 300, INTERVAL_US = 300, NOISE = 2 };

static volatile sig_atomic_t forks, in_child, failed;

static void fork_here(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    if (forks < FORKS && !in_child) {
        pid_t child = fork();
        if (child == 0) {
            in_child = 1;
        } else if (child > 0) {
            forks++;
        } else {
            failed = 1;
        }
    }
    errno = saved;
}

static void reap(void)
{
    int status;
    pid_t child;
    while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
        CHECK_AT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d status %x", (int)child,
                 status);
    }
}

int main(void)
{
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, INTERVAL_US}, {0, INTERVAL_US}};
    /* Only main shall be interrupted: it is the one that knows what to do in the child. */
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGVTALRM);
    alarm(110);
    pthread_sigmask(SIG_BLOCK, &only, NULL);
    noise_start(NOISE);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    CHECK_EQ(sigaction(SIGVTALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_VIRTUAL, &every, NULL), 0);
    void *kept[50] = {NULL};
    for (unsigned turn = 0; forks < FORKS && check_failures == 0 && !failed; turn++) {
        unsigned place = turn * 7 % 50;
        free(kept[place]);
        kept[place] = malloc(work_size(turn % 100));
        kept[place] = realloc(kept[place], 40 + turn % 3000);
        if (in_child) {
            for (int i = 0; i < 50; i++) {
                free(kept[i]);
            }
            child_works(turn);
        }
        reap();
    }
    struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_VIRTUAL, &off, NULL);
    noise_end(NOISE);
    int status;
    while (wait(&status) > 0) {
        CHECK_EQ(status, 0);
    }
    CHECK(!failed && heap_works(3));
    return check_result();
}
