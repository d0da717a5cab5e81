/* SPDX-License-Identifier: MIT */
/*
 * The calls that waits_last_as_long_as_asked.c tries: each waits for `ms` or without end for what
 * never comes, and returns 0 when that time is over, or -1 and errno.
 */
#ifndef TESTS_WAITS_H
#define TESTS_WAITS_H

#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE_BYTES = 4096 }; /* a message fills the queue, which has one */

static volatile sig_atomic_t handled; /* signals of the program's own */
static int own_after_ms;              /* when the first one comes */
static int empty[2], events, semaphores, queue;

static struct timespec spec(int ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000L};
}

static struct timespec from_now(int ms)
{
    struct timespec now, length = spec(ms);
    clock_gettime(CLOCK_REALTIME, &now);
    long ns = now.tv_nsec + length.tv_nsec;
    return (struct timespec){now.tv_sec + length.tv_sec + ns / 1000000000, ns % 1000000000};
}

static int by_poll(int ms)
{
    struct pollfd fd = {empty[0], POLLIN, 0};
    return poll(&fd, 1, ms);
}
static int by_ppoll(int ms)
{
    struct timespec length = spec(ms);
    sigset_t none;
    sigemptyset(&none);
    return ppoll(NULL, 0, &length, ms % 2 ? &none : NULL);
}
static int by_select(int ms)
{
    struct timeval length = {ms / 1000, ms % 1000 * 1000};
    fd_set reads;
    FD_ZERO(&reads);
    FD_SET(empty[0], &reads);
    int result = select(empty[0] + 1, &reads, NULL, NULL, &length);
    uint64_t left = length.tv_sec * 1000ull + length.tv_usec / 1000;
    if (result == 0 && left != 0)
        fprintf(stderr, "select leaves %d ms\n", (int)left), _exit(1);
    return result;
}
static int by_pselect(int ms)
{
    struct timespec length = spec(ms);
    return pselect(0, NULL, NULL, NULL, &length, NULL);
}
static int by_epoll_wait(int ms)
{
    struct epoll_event event;
    return epoll_wait(events, &event, 1, ms);
}
static int by_epoll_pwait(int ms)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(events, &event, 1, ms, &none);
}
static int by_nanosleep(int ms)
{
    struct timespec length = spec(ms), rest = {0, 0};
    int result = nanosleep(&length, &rest);
    if (result < 0 && rest.tv_sec * 1000 + rest.tv_nsec / 1000000 > ms - own_after_ms)
        fprintf(stderr, "nanosleep leaves %ld s\n", (long)rest.tv_sec), _exit(1);
    return result;
}
static int by_clock_nanosleep(int ms)
{
    struct timespec length = spec(ms);
    errno = 0;
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &length, &length);
    return error == 0 ? 0 : (errno = error, -1);
}
static int by_clock_until(int ms)
{
    struct timespec until = from_now(ms);
    int error = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
    return error == 0 ? 0 : (errno = error, -1);
}
static int by_usleep(int ms)
{
    return usleep((unsigned)ms * 1000);
}
static int by_sleep(int ms)
{
    unsigned left = sleep((unsigned)(ms + 999) / 1000);
    return left == 0 && handled == 0 ? 0 : (errno = EINTR, -1);
}
static int by_pause(int ms)
{
    (void)ms;
    return pause();
}
static int by_sigsuspend(int ms)
{
    sigset_t none;
    (void)ms;
    sigemptyset(&none);
    return sigsuspend(&none);
}

static int by_sigtimedwait(int ms)
{
    struct timespec length = spec(ms);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMAX);
    int result = sigtimedwait(&set, NULL, &length);
    return result < 0 && errno == EAGAIN ? 0 : result;
}

static int by_sem_timedwait(int ms)
{
    static sem_t semaphore;
    struct timespec until = from_now(ms);
    int result = sem_timedwait(&semaphore, &until);
    return result < 0 && errno == ETIMEDOUT ? 0 : result;
}

static int by_sem_clockwait(int ms)
{
    static sem_t semaphore;
    struct timespec until = spec(ms), now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    until.tv_sec += now.tv_sec + (until.tv_nsec + now.tv_nsec) / 1000000000;
    until.tv_nsec = (until.tv_nsec + now.tv_nsec) % 1000000000;
    int result = sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until);
    return result < 0 && errno == ETIMEDOUT ? 0 : result;
}

static int by_epoll_pwait2(int ms)
{
    struct epoll_event event;
    struct timespec length = spec(ms);
    return epoll_pwait2(events, &event, 1, &length, NULL);
}

static int by_thrd_sleep(int ms)
{
    struct timespec length = spec(ms);
    int result = thrd_sleep(&length, NULL);
    return result == -1 ? (errno = EINTR, -1) : result;
}

static int by_boot_clock(int ms)
{
    struct timespec length = spec(ms);
    int error = clock_nanosleep(CLOCK_BOOTTIME, 0, &length, &length);
    return error == 0 ? 0 : (errno = error, -1);
}

static int by_select_us(int ms)
{
    struct timeval length = {0, 1000000 + ms % 1000 * 1000};
    return select(0, NULL, NULL, NULL, &length);
}

static int by_select_ever(int ms)
{
    struct timeval length = {INT64_MAX, ms};
    return select(0, NULL, NULL, NULL, &length);
}

static int by_nanosleep_ever(int ms)
{
    struct timespec length = {INT64_MAX, ms};
    return nanosleep(&length, NULL);
}

static int by_aio_suspend(int ms)
{
    static char byte;
    static struct aiocb block;
    const struct aiocb *blocks[] = {&block};
    struct timespec length = spec(ms);
    int own[2]; /* its thread would take the byte that another test waits for */
    if (block.aio_nbytes == 0) {
        if (pipe(own) != 0)
            _exit(2);
        block = (struct aiocb){.aio_fildes = own[0], .aio_buf = &byte, .aio_nbytes = 1};
        if (aio_read(&block) != 0)
            _exit(2);
    }
    int result = aio_suspend(blocks, 1, &length);
    return result < 0 && errno == EAGAIN ? 0 : result;
}

static struct sembuf taking = {0, -1, 0};
static int by_semtimedop(int ms)
{
    struct timespec length = spec(ms);
    int result = semtimedop(semaphores, &taking, 1, &length);
    return result < 0 && errno == EAGAIN ? 0 : result;
}

static int by_semop(int ms)
{
    (void)ms;
    return semop(semaphores, &taking, 1);
}

static int by_msgrcv(int ms)
{
    struct {
        long type;
        char text;
    } message;
    (void)ms;
    return (int)msgrcv(queue, &message, 1, 1, 0);
}

static int by_msgsnd(int ms)
{
    struct {
        long type;
        char text[QUEUE_BYTES];
    } message = {2, ""};
    (void)ms;
    return msgsnd(queue, &message, QUEUE_BYTES, 0);
}

static const struct {
    const char *name;
    int (*wait)(int ms);
    bool endless;
    enum { IN_PARTS, FILE_BEFORE, NO_FILE } file; /* when a child makes it: also before the wait */
} waits[] = {
    {"poll", by_poll, false, IN_PARTS},
    {"ppoll", by_ppoll, false, IN_PARTS},
    {"select", by_select, false, IN_PARTS},
    {"pselect", by_pselect, false, IN_PARTS},
    {"epoll_wait", by_epoll_wait, false, IN_PARTS},
    {"epoll_pwait", by_epoll_pwait, false, IN_PARTS},
    {"nanosleep", by_nanosleep, false, IN_PARTS},
    {"clock_nanosleep", by_clock_nanosleep, false, IN_PARTS},
    {"clock_nanosleep until", by_clock_until, false, IN_PARTS},
    {"usleep", by_usleep, false, IN_PARTS},
    {"sleep", by_sleep, false, IN_PARTS},
    {"pause", by_pause, true, IN_PARTS},
    {"sigsuspend", by_sigsuspend, true, IN_PARTS},
    {"sigtimedwait", by_sigtimedwait, false, IN_PARTS},
    {"sem_timedwait", by_sem_timedwait, false, FILE_BEFORE},
    {"sem_clockwait", by_sem_clockwait, false, FILE_BEFORE},
    {"epoll_pwait2", by_epoll_pwait2, false, IN_PARTS},
    {"thrd_sleep", by_thrd_sleep, false, IN_PARTS},
    {"select, microseconds", by_select_us, false, IN_PARTS},
    {"select for ever", by_select_ever, true, IN_PARTS},
    {"nanosleep for ever", by_nanosleep_ever, true, IN_PARTS},
    {"clock_nanosleep, boot", by_boot_clock, false, NO_FILE},
    {"aio_suspend", by_aio_suspend, false, NO_FILE},
    {"semtimedop", by_semtimedop, false, NO_FILE},
    {"semop", by_semop, true, NO_FILE},
    {"msgrcv", by_msgrcv, true, NO_FILE},
    {"msgsnd", by_msgsnd, true, NO_FILE},
};

static void queues_end(void)
{
    semctl(semaphores, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
}

/* Empty semaphores and a full queue, without a message of the type that is waited for. */
static bool queues_begin(void)
{
    struct {
        long type;
        char text[QUEUE_BYTES];
    } message = {2, ""};
    struct msqid_ds about;
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    if (semaphores < 0 || queue < 0 || msgctl(queue, IPC_STAT, &about) != 0)
        return false;
    about.msg_qbytes = QUEUE_BYTES;
    return msgctl(queue, IPC_SET, &about) == 0 && msgsnd(queue, &message, QUEUE_BYTES, 0) == 0;
}

#endif
