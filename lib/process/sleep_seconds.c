/* SPDX-License-Identifier: MIT */
/* sleep, usleep and thrd_sleep, by nanosleep and clock_nanosleep of lib/process/sleep.c. Not in the
 * static archive either. */
#include <errno.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec rest = {(time_t)seconds, 0};
    int kept = errno;
    if (nanosleep(&rest, &rest) != 0)
        return (unsigned)rest.tv_sec;
    errno = kept;
    return 0;
}

/* The result is 0, -1 if a signal has come, or less. */
EXPORT int thrd_sleep(const struct timespec *length, struct timespec *remaining)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, length, remaining);
    return error == 0 ? 0 : error == EINTR ? -1 : -2;
}

EXPORT int usleep(useconds_t us)
{
    struct timespec length = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    return nanosleep(&length, NULL);
}
