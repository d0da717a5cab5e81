/* SPDX-License-Identifier: MIT */
/*
 * pthread_create, so that a thread has its clock from its start on while the CPU profile runs, and
 * that its end is noticed while waits for locks are counted. Otherwise, and where there is no
 * memory for it, the call goes straight on to libc. The new thread enters the program's function by
 * a jump: nothing of ours is on its stack. Not in the static archive, for there is no way to libc's
 * function behind ours; threads of static programs are found by looking (lib/watch/tasks.h).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/api/init.h"
#include "lib/api/locks.h"
#include "lib/api/observers.h"
#include "lib/cpu/cpu.h"
#include "lib/process/process.h"

typedef int creator(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct start {
    void *(*run)(void *argument);
    void *argument;
};

static creator *next(void);
static void *begin(void *argument);

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *argument), void *argument)
{
    creator *create = next();
    os_tid_learn();
    if (create == NULL)
        return EAGAIN; /* a glibc before 2.34 without libpthread */
    if (locks_prepare != NULL)
        locks_prepare();
    bool watched = observers_want_threads();
    struct start *start = likely(!watched) ? NULL : malloc(sizeof *start);
    if (start == NULL)
        return create(thread, attributes, run, argument);
    *start = (struct start){run, argument};
    int error = create(thread, attributes, begin, start);
    if (error != 0)
        free(start);
    return error;
}

static creator *next(void)
{
    static void *known;
    return (creator *)next_of(&known, "pthread_create");
}

static void *begin(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    observers_thread_begin();
    init_thread_watch();
    return start.run(start.argument);
}
