/* SPDX-License-Identifier: MIT */
/* The bare system call makes a child behind the back of every fork handler, while other threads
 * hold the allocator's locks; the child finds out by itself. (The C library's own thread functions
 * do not, so the child only allocates.) */
#include <signal.h>
#include <sys/syscall.h>

#include "tests/programs/work.h"

enum { FORKS = 300, NOISE = 3 };

int main(void)
{
    alarm(100);
    noise_start(NOISE);
    for (unsigned i = 0; i < FORKS && check_failures == 0; i++) {
        long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            alarm(CHILD_SECONDS);
            syscall(SYS_exit_group, heap_works(i) ? 0 : 2);
        }
        if (CHECK(child > 0)) {
            child_ended_well((pid_t)child);
        }
    }
    noise_end(NOISE);
    return check_result();
}
