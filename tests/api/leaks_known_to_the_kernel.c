/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * Blocks of which only the kernel knows, as the word that epoll gives back for a descriptor or as
 * the value of a timer, are in use. When it forgets them they are lost.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { CONNECTIONS = 500, SCANS = 2, FIRST_FD = 300 };

static int poller, moved;
static timer_t timer;
static struct memoir_leaks before;

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[64 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

static __attribute__((noinline)) void connections_make(void)
{
    poller = epoll_create1(0);
    int first = eventfd(0, 0);
    CHECK(poller >= 0 && first >= 0);
    for (int i = 0; i < CONNECTIONS; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        event.data.ptr = calloc(1, 100);
        int fd = dup2(first, FIRST_FD + i);
        CHECK(fd >= 0 && epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0);
        event.data.ptr = NULL;
        __asm__ volatile("" ::"r"(&event) : "memory");
    }
}

static __attribute__((noinline)) void timer_make(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX};
    event.sigev_value.sival_ptr = calloc(1, 200);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    event.sigev_value.sival_ptr = NULL;
    __asm__ volatile("" ::"r"(&event) : "memory");
}

static uint64_t lost(void)
{
    struct memoir_leaks leaks = {0};
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    CHECK(leaks.possible.blocks == before.possible.blocks);
    return leaks.definite.blocks - before.definite.blocks;
}

int main(void)
{
    CHECK(memoir_leaks(&before, sizeof before, NULL, NULL));
    connections_make();
    timer_make();
    for (int i = 0; i < SCANS; i++)
        CHECK(lost() == 0);
    moved = dup(poller); /* by another number as well */
    for (int i = 0; i < 10; i++)
        CHECK(epoll_ctl(poller, EPOLL_CTL_DEL, FIRST_FD + i, NULL) == 0);
    CHECK(lost() == 10);
    CHECK(timer_delete(timer) == 0);
    CHECK(lost() == 11);
    close(poller);
    CHECK(lost() == 11);
    close(moved);
    CHECK(lost() == 1 + CONNECTIONS);
    return check_result();
}
