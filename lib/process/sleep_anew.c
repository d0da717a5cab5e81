/* SPDX-License-Identifier: MIT */
/*
 * sem_timedwait, sem_clockwait, semop, semtimedop, msgrcv, msgsnd and aio_suspend: calls that let
 * no signals through while they wait, and that neither the kernel nor libc makes again after a
 * handler. Where our handler cut the wait short (lib/watch/interrupt.h), these wrappers simply make
 * them again.
 *
 * Each calls libc's function, as in lib/process/sleep.c, and is not in the static archive either.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <semaphore.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/process/next.h"
#include "lib/process/sleep.h"
#include "lib/watch/watch.h"

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
                  const struct timespec *restrict until);

/* libc's, found before the program runs. */
static struct {
    __typeof__(&sem_timedwait) sem_timedwait;
    __typeof__(&sem_clockwait) sem_clockwait;
    __typeof__(&semop) semop;
    __typeof__(&semtimedop) semtimedop;
    __typeof__(&msgrcv) msgrcv;
    __typeof__(&msgsnd) msgsnd;
    __typeof__(&aio_suspend) aio_suspend;
} next;

#define NEXT(name) (next_of((void **)&next.name, #name), next.name)

__attribute__((constructor(102))) static void look_up(void)
{
    (void)NEXT(sem_timedwait);
    (void)NEXT(sem_clockwait);
    (void)NEXT(semop);
    (void)NEXT(semtimedop);
    (void)NEXT(msgrcv);
    (void)NEXT(msgsnd);
    (void)NEXT(aio_suspend);
}

static bool again(struct interrupt_wait *wait, long result)
{
    return result < 0 && errno == EINTR && interrupt_wait_anew(wait);
}

/* A signal has come: the semaphore is not waited for. */
static int sem_cut(sem_t *semaphore)
{
    static const struct timespec past;
    int result = NEXT(sem_timedwait)(semaphore, &past);
    if (result < 0 && errno == ETIMEDOUT)
        errno = EINTR;
    return result;
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    struct interrupt_wait wait;
    interrupt_wait_begin_anew(&wait);
    int result = sleep_file_look_anew(&wait, UINT64_MAX) ? sem_cut(semaphore)
                                                         : NEXT(sem_timedwait)(semaphore, until);
    while (again(&wait, result))
        result = NEXT(sem_timedwait)(semaphore, until);
    interrupt_wait_end(&wait);
    return result;
}

/* Not in every libc. */
EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
                         const struct timespec *restrict until)
{
    struct interrupt_wait wait;
    if (NEXT(sem_clockwait) == NULL) {
        errno = ENOSYS;
        return -1;
    }
    interrupt_wait_begin_anew(&wait);
    int result = sleep_file_look_anew(&wait, UINT64_MAX)
                     ? sem_cut(semaphore)
                     : next.sem_clockwait(semaphore, clock, until);
    while (again(&wait, result))
        result = next.sem_clockwait(semaphore, clock, until);
    interrupt_wait_end(&wait);
    return result;
}

EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
    struct interrupt_wait wait;
    int result;
    interrupt_wait_begin_anew(&wait);
    do
        result = NEXT(semop)(id, operations, count);
    while (again(&wait, result));
    interrupt_wait_end(&wait);
    return result;
}

/* When a wait of that length is to end; UINT64_MAX: never, or the call refuses the length. */
static uint64_t end_of(const struct timespec *length)
{
    return sleep_is_length(length) ? os_now_ns() + sleep_ns(length) : UINT64_MAX;
}

static const struct timespec *left(uint64_t until_ns, struct timespec *rest)
{
    uint64_t now_ns = os_now_ns();
    *rest = sleep_spec(until_ns > now_ns ? until_ns - now_ns : 0);
    return until_ns == UINT64_MAX ? NULL : rest;
}

EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
                      const struct timespec *timeout)
{
    struct interrupt_wait wait;
    struct timespec rest;
    uint64_t until_ns = end_of(timeout);
    interrupt_wait_begin_anew(&wait);
    int result = NEXT(semtimedop)(id, operations, count, timeout);
    while (again(&wait, result))
        result = NEXT(semtimedop)(id, operations, count, left(until_ns, &rest));
    interrupt_wait_end(&wait);
    return result;
}

EXPORT ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
{
    struct interrupt_wait wait;
    ssize_t result;
    interrupt_wait_begin_anew(&wait);
    do
        result = NEXT(msgrcv)(id, message, size, type, flags);
    while (again(&wait, result));
    interrupt_wait_end(&wait);
    return result;
}

EXPORT int msgsnd(int id, const void *message, size_t size, int flags)
{
    struct interrupt_wait wait;
    int result;
    interrupt_wait_begin_anew(&wait);
    do
        result = NEXT(msgsnd)(id, message, size, flags);
    while (again(&wait, result));
    interrupt_wait_end(&wait);
    return result;
}

EXPORT int aio_suspend(const struct aiocb *const blocks[], int count,
                       const struct timespec *timeout)
{
    struct interrupt_wait wait;
    struct timespec rest;
    uint64_t until_ns = end_of(timeout);
    interrupt_wait_begin_anew(&wait);
    int result = NEXT(aio_suspend)(blocks, count, timeout);
    while (again(&wait, result))
        result = NEXT(aio_suspend)(blocks, count, left(until_ns, &rest));
    interrupt_wait_end(&wait);
    return result;
}

#ifdef __GLIBC__
/* Where files have sizes of 64 bits. */
EXPORT int aio_suspend64(const struct aiocb64 *const blocks[], int count,
                         const struct timespec *timeout) __attribute__((alias("aio_suspend")));
#endif
