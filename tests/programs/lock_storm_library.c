/* SPDX-License-Identifier: MIT */
/* helper: the library of lock_storm.sh. */
#include <pthread.h>

void library_locks(void);

#ifdef __GLIBC__
/* The loader calls `slowly` while it relocates the library, and writes the answer to a page that it
 * closes after that: other threads have the time to look at the library meanwhile. */
static int done(void)
{
    return 0;
}

static int (*slowly(void))(void)
{
    for (volatile int i = 0; i < 200000; i++) {
    }
    return done;
}

static int resolved(void) __attribute__((ifunc("slowly")));
#else
static int resolved(void)
{
    return 0;
}
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

void library_locks(void)
{
    pthread_t thread;
    if (resolved() != 0 || pthread_create(&thread, 0, lock, 0) != 0)
        return;
    lock(0);
    pthread_join(thread, 0);
}
