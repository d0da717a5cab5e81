/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * For lock_storm.sh: threads wait for locks of all kinds, begin and end, are cancelled in waits,
 * load and unload a library with locks of its own, fork, and are interrupted by signals, for some
 * seconds. What the locks protect is checked: a lock that two threads have at once, or that is
 * lost, ends the program.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *library_path;
static volatile int stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long inside, guarded, entered, pair[2];
static long done[8]; /* by kind of work */

static struct timespec soon(long ns)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += ns;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static void section(void)
{
    assert(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST) == 0);
    guarded++;
    __atomic_fetch_add(&entered, 1, __ATOMIC_SEQ_CST);
    assert(__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST) == 1);
}

static void *locks(void *unused)
{
    unsigned seed = (unsigned)(size_t)&seed;
    while (!stop) {
        struct timespec until = soon(rand_r(&seed) % 200000);
        int timed = rand_r(&seed) % 3 == 0;
        int error = timed ? pthread_mutex_timedlock(&mutex, &until) : pthread_mutex_lock(&mutex);
        assert(error == 0 || (timed && error == ETIMEDOUT));
        if (error == 0) {
            section();
            if (rand_r(&seed) % 64 == 0)
                usleep(100);
            assert(pthread_mutex_unlock(&mutex) == 0);
        }
        __atomic_fetch_add(&done[0], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *reads(void *unused)
{
    unsigned seed = (unsigned)(size_t)&seed;
    while (!stop) {
        if (rand_r(&seed) % 4 == 0) {
            assert(pthread_rwlock_wrlock(&rwlock) == 0);
            pair[0]++;
            pair[1]++;
        } else {
            assert(pthread_rwlock_rdlock(&rwlock) == 0);
            assert(pair[0] == pair[1]);
        }
        assert(pthread_rwlock_unlock(&rwlock) == 0);
        __atomic_fetch_add(&done[1], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *waits(void *unused)
{
    while (!stop) {
        struct timespec until = soon(300000);
        pthread_mutex_lock(&other);
        int error = pthread_cond_timedwait(&condition, &other, &until);
        assert(error == 0 || error == ETIMEDOUT);
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&other);
        __atomic_fetch_add(&done[2], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *brief(void *unused)
{
    pthread_mutex_lock(&mutex);
    section();
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *for_ever(void *unused)
{
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&other);
    pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &other);
    for (;;)
        pthread_cond_wait(&never, &other);
    pthread_cleanup_pop(1);
    return unused;
}

/* Threads of a moment, some of which are cancelled while they wait. */
static void *begins(void *unused)
{
    while (!stop) {
        pthread_t one, two;
        void *result;
        assert(pthread_create(&one, NULL, brief, NULL) == 0);
        assert(pthread_create(&two, NULL, for_ever, NULL) == 0);
        usleep(200);
        pthread_cancel(two);
        pthread_join(one, NULL);
        pthread_join(two, &result);
        assert(result == PTHREAD_CANCELED);
        __atomic_fetch_add(&done[3], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *loads(void *unused)
{
    while (!stop) {
        void *library = dlopen(library_path, RTLD_NOW);
        assert(library != NULL);
        void (*lock)(void) = (void (*)(void))dlsym(library, "library_locks");
        assert(lock != NULL);
        lock();
        dlclose(library);
        __atomic_fetch_add(&done[4], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void *forks(void *unused)
{
    while (!stop) {
        pid_t child = fork();
        if (child == 0) {
            pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            pthread_t thread;
            struct timespec until = soon(2000000);
            pthread_mutex_lock(&own);
            assert(pthread_mutex_timedlock(&own, &until) == ETIMEDOUT);
            pthread_mutex_init(&mutex, NULL);
            inside = 0;
            assert(pthread_create(&thread, NULL, brief, NULL) == 0);
            pthread_join(thread, NULL);
            _exit(0);
        }
        int status = 1;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        assert(status == 0);
        __atomic_fetch_add(&done[5], 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void handler(int number)
{
    (void)number;
    __atomic_fetch_add(&done[6], 1, __ATOMIC_RELAXED);
}

int main(int count, char **words)
{
    void *(*const works[])(void *) = {locks, locks, locks,  reads, reads,
                                      waits, waits, begins, loads, forks};
    enum { WORKS = sizeof works / sizeof *works };
    pthread_t threads[WORKS];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 500}, {0, 500}};
    library_path = words[1];
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < WORKS; i++)
        assert(pthread_create(&threads[i], NULL, works[i], NULL) == 0);
    for (time_t end = time(NULL) + atoi(words[2]); time(NULL) < end;)
        usleep(20000);
    stop = 1;
    for (int i = 0; i < WORKS; i++)
        pthread_join(threads[i], NULL);
    assert(guarded == entered && pair[0] == pair[1]);
    for (int i = 0; i < 7; i++) {
        printf("%ld ", done[i]);
        assert(done[i] > 0);
    }
    puts("");
    return 0;
}
