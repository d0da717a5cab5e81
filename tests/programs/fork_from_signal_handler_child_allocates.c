/* SPDX-License-Identifier: MIT */
/* The handler that interrupted malloc forks, and the child uses the heap inside the handler, above
 * the interrupted call, before it ends with _exit. malloc promises nothing there, so it may say
 * that there is no memory; it must not hang, crash or hand out a block twice, and most often it
 * works. */
#include <signal.h>
#include <sys/time.h>

#include "tests/programs/work.h"

enum { FORKS = 300, INTERVAL_US = 300 };

static volatile sig_atomic_t forks, worked, failed;

static void fork_and_work(int signal_number)
{
    (void)signal_number;
    int saved = errno, status = 0;
    if (forks < FORKS) {
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            _exit(heap_verdict((unsigned)forks));
        }
        forks++;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status) > REFUSED) {
            failed = status ? status : -1;
        }
        worked += status == 0;
    }
    errno = saved;
}

int main(void)
{
    struct sigaction action = {.sa_handler = fork_and_work, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, INTERVAL_US}, {0, INTERVAL_US}};
    struct itimerval off = {{0, 0}, {0, 0}};
    void *kept[50] = {NULL};
    alarm(110);
    CHECK_EQ(sigaction(SIGVTALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_VIRTUAL, &every, NULL), 0);
    for (unsigned turn = 0; forks < FORKS && !failed; turn++) {
        unsigned place = turn * 7 % 50;
        free(kept[place]);
        kept[place] = malloc(work_size(turn % 100));
    }
    setitimer(ITIMER_VIRTUAL, &off, NULL);
    CHECK_AT(failed == 0, "a child's status is %x", (unsigned)failed);
    CHECK_AT(worked > FORKS / 2, "%d of %d children could allocate", (int)worked, FORKS);
    CHECK(heap_works(3));
    return check_result();
}
