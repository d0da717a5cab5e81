/* SPDX-License-Identifier: MIT */
/* The ways to a new process that no fork handler sees: clone with and without CLONE_VM, and the
 * bare system calls. A copy of a process with one thread has a working heap; a child that shares
 * our memory may use the heap while we wait for it, and what it allocated is there afterwards. */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/programs/work.h"

enum { TURNS = 150, STACK_BYTES = 256 * 1024 };

static char stack[STACK_BYTES] __attribute__((aligned(64)));
static unsigned char *from_child;

static int copied(void *argument)
{
    alarm(CHILD_SECONDS);
    return heap_works(*(unsigned *)argument) ? 0 : 2;
}

static int sharing(void *argument)
{
    from_child = malloc(1000);
    memset(from_child, 0x42, 1000);
    return heap_works(*(unsigned *)argument) ? 0 : 2;
}

static void by_clone(unsigned turn)
{
    pid_t child = clone(copied, stack + STACK_BYTES, SIGCHLD, &turn);
    if (CHECK(child > 0)) {
        child_ended_well(child);
    }
    child = clone(sharing, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &turn);
    if (CHECK(child > 0) && child_ended_well(child)) {
        CHECK_EQ(first_other_byte(from_child, 1000, 0x42), 1000);
        free(from_child);
    }
}

static void by_system_call(unsigned turn)
{
    long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        alarm(CHILD_SECONDS);
        syscall(SYS_exit_group, heap_works(turn) ? 0 : 2);
    }
    if (CHECK(child > 0)) {
        child_ended_well((pid_t)child);
    }
#ifdef SYS_fork
    child = syscall(SYS_fork);
    if (child == 0) {
        alarm(CHILD_SECONDS);
        syscall(SYS_exit_group, heap_works(turn) ? 0 : 2);
    }
    if (CHECK(child > 0)) {
        child_ended_well((pid_t)child);
    }
#endif
}

int main(void)
{
    alarm(100);
    for (unsigned turn = 0; turn < TURNS && check_failures == 0; turn++) {
        by_clone(turn);
        by_system_call(turn);
        CHECK(heap_works(turn));
    }
    return check_result();
}
