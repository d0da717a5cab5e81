/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * For lock_waits.sh: threads wait for locks, and the program measures itself how long. Each mode
 * prints lines "NAME SECONDS" of the waits that it knows of.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 25, HELD_US = 2000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void hold(void)
{
    double until = now() + HELD_US * 1e-6;
    while (now() < until)
        usleep(100);
}

static struct timespec later(double seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    double whole = (double)time.tv_nsec * 1e-9 + seconds;
    time.tv_sec += (time_t)whole;
    time.tv_nsec = (long)((whole - (double)(time_t)whole) * 1e9);
    return time;
}

static double waited[THREADS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t plain;

__attribute__((noinline)) static void enter_mutex(int i)
{
    double from = now();
    pthread_mutex_lock(&mutex);
    waited[i] += now() - from;
    hold();
    pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void enter_timed(int i)
{
    double from = now();
    struct timespec until = later(60);
    int error = pthread_mutex_timedlock(&mutex, &until);
    assert(error == 0);
    waited[i] += now() - from;
    hold();
    pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void enter_write(int i)
{
    double from = now();
    pthread_rwlock_wrlock(&rwlock);
    waited[i] += now() - from;
    hold();
    pthread_rwlock_unlock(&rwlock);
}

__attribute__((noinline)) static void enter_mtx(int i)
{
    double from = now();
    mtx_lock(&plain);
    waited[i] += now() - from;
    hold();
    mtx_unlock(&plain);
}

static void (*enter)(int i);

static void *worker(void *number)
{
    char name[16];
    int i = (int)(long)number;
    snprintf(name, sizeof name, "worker%d", i);
    pthread_setname_np(pthread_self(), name);
    for (int k = 0; k < ROUNDS; k++)
        enter(i);
    return NULL;
}

static double threads_run(void)
{
    pthread_t threads[THREADS];
    double sum = 0;
    memset(waited, 0, sizeof waited);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += waited[i];
    }
    return sum;
}

static void contend(const char *name, void (*how)(int i))
{
    enter = how;
    printf("%s %.6f\n", name, threads_run());
}

/* ---- one waits for a certain other ---- */

static pthread_barrier_t barrier;

static void *holder(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "the_holder");
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier);
    usleep(200000);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

__attribute__((noinline)) static void wait_for_holder(void)
{
    double from = now();
    pthread_mutex_lock(&mutex);
    printf("wait_for_holder %.6f\n", now() - from);
    pthread_mutex_unlock(&mutex);
}

static void held(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, holder, NULL);
    pthread_barrier_wait(&barrier);
    wait_for_holder();
    pthread_join(thread, NULL);
}

/* ---- condition variables ---- */

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready;

static void *signaller(void *unused)
{
    (void)unused;
    usleep(30000);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

__attribute__((noinline)) static void wait_for_signal(void)
{
    double from = now();
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    printf("wait_for_signal %.6f\n", now() - from);
}

__attribute__((noinline)) static void wait_for_time(void)
{
    pthread_mutex_lock(&mutex);
    struct timespec until = later(0.03);
    double from = now();
    int error = pthread_cond_timedwait(&condition, &mutex, &until);
    double waited_for = now() - from;
    pthread_mutex_unlock(&mutex);
    assert(error == ETIMEDOUT);
    printf("wait_for_time %.6f\n", waited_for);
}

static void *cancelled(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return NULL;
}

static void conditions(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, signaller, NULL);
    wait_for_signal();
    pthread_join(thread, NULL);
    wait_for_time();
    pthread_create(&thread, NULL, cancelled, NULL);
    usleep(10000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
    pthread_mutex_lock(&mutex); /* the cleanup has run */
    pthread_mutex_unlock(&mutex);
}

/* ---- the addresses of functions, which in a program that is not position independent are those of
 * its own stubs ---- */

static void addresses(void)
{
    int (*volatile lock)(pthread_mutex_t *) = pthread_mutex_lock;
    int (*volatile try)(pthread_mutex_t *) = pthread_mutex_trylock;
    int (*volatile wait)(pthread_cond_t *, pthread_mutex_t *) = pthread_cond_wait;
    int (*volatile wait_until)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
        pthread_cond_timedwait;
    int (*volatile read)(pthread_rwlock_t *) = pthread_rwlock_rdlock;
    int (*volatile write_until)(pthread_rwlock_t *, const struct timespec *) =
        pthread_rwlock_timedwrlock;
    int (*volatile mtx)(mtx_t *) = mtx_lock;
    struct timespec past = {1, 0};
    pthread_t thread;
    assert(lock(&mutex) == 0 && try(&mutex) == EBUSY);
    assert(wait_until(&condition, &mutex, &past) == ETIMEDOUT);
    pthread_create(&thread, NULL, signaller, NULL);
    while (!ready)
        assert(wait(&condition, &mutex) == 0);
    assert(pthread_mutex_unlock(&mutex) == 0);
    pthread_join(thread, NULL);
    ready = 0;
    assert(read(&rwlock) == 0 && write_until(&rwlock, &past) == ETIMEDOUT);
    assert(pthread_rwlock_unlock(&rwlock) == 0);
    assert(mtx(&plain) == thrd_success && mtx_unlock(&plain) == thrd_success);
    held();
    conditions();
}

/* ---- every kind of mutex answers as without us ---- */

static pthread_mutex_t robust;

static void *dies(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&robust);
    return NULL;
}

static void kinds(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t it;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_t thread;
    struct timespec bad = {0, 2000000000}, past = {1, 0};
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&it, &attributes);
    assert(pthread_mutex_lock(&it) == 0 && pthread_mutex_lock(&it) == 0);
    assert(pthread_mutex_unlock(&it) == 0 && pthread_mutex_unlock(&it) == 0);
    assert(pthread_mutex_unlock(&it) == EPERM);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&it, &attributes);
    assert(pthread_mutex_lock(&it) == 0 && pthread_mutex_lock(&it) == EDEADLK);
    assert(pthread_mutex_timedlock(&it, &past) == EDEADLK && pthread_mutex_unlock(&it) == 0);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&it, &attributes);
    assert(pthread_mutex_lock(&it) == 0 && pthread_mutex_trylock(&it) == EBUSY);
    assert(pthread_mutex_unlock(&it) == 0);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_NONE);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&thread, NULL, dies, NULL);
    pthread_join(thread, NULL);
    assert(pthread_mutex_lock(&robust) == EOWNERDEAD);
    assert(pthread_mutex_unlock(&robust) == 0); /* not made consistent */
    assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    assert(pthread_mutex_lock(&mutex) == 0);
    assert(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&mutex, &bad) == EINVAL);
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 30)
    assert(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
    assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_mutex_clocklock(&mutex, 12345, &past) == EINVAL);
    assert(pthread_mutex_lock(&mutex) == 0);
#endif
    assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_rwlock_rdlock(&lock) == 0 && pthread_rwlock_rdlock(&lock) == 0);
    assert(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
    assert(pthread_rwlock_unlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0);
    assert(pthread_rwlock_wrlock(&lock) == 0 && pthread_rwlock_rdlock(&lock) == EDEADLK);
    assert(pthread_rwlock_timedrdlock(&lock, &past) == EDEADLK);
    assert(pthread_rwlock_wrlock(&lock) == EDEADLK && pthread_rwlock_unlock(&lock) == 0);
    puts("kinds 0");
}

/* ---- others ---- */

static void forked(void)
{
    contend("parent", enter_mutex);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        contend("child", enter_write);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A library's own function, which waits for a lock of the library's. */
static void opened(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    double (*run)(void) = (double (*)(void))dlsym(library, "library_waits");
    assert(run != NULL);
    printf("library_waits %.6f\n", run());
}

/* Where references of the program lead to: "libc" or "ours". */
static void tell_where(const char *when)
{
    Dl_info about;
    int (*volatile lock)(pthread_mutex_t *) =
        pthread_mutex_lock; /* through the table of references */
    assert(dladdr((void *)lock, &about) != 0);
    const char *slash = strrchr(about.dli_fname, '/');
    printf("%s %s %s\n", when, slash ? slash + 1 : about.dli_fname,
           dlsym(RTLD_DEFAULT, "pthread_mutex_lock") == (void *)lock ? "same" : "other");
    fflush(stdout);
}

/* Goes on until a line comes, in threads that wait for each other. */
static void *contends(void *stop)
{
    while (!*(volatile int *)stop)
        enter_mutex(0);
    return NULL;
}

static void asked(void)
{
    pthread_t threads[2];
    int stop = 0;
    char line[16];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, contends, &stop);
    while (fgets(line, sizeof line, stdin) != NULL && line[0] != 'q')
        tell_where("asked");
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static int c11_contends(void *stop)
{
    contends(stop);
    return 0;
}

/* No thread is from pthread_create. */
static void c11(void)
{
    thrd_t thread;
    int stop = 0;
    char line[16];
    thrd_create(&thread, c11_contends, &stop);
    puts("c11");
    fflush(stdout);
    fgets(line, sizeof line, stdin);
    stop = 1;
    thrd_join(thread, NULL);
}

static void free_locks(long count)
{
    for (long i = 0; i < count; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    mtx_init(&plain, mtx_plain);
    if (strcmp(mode, "all") == 0) {
        contend("enter_mutex", enter_mutex);
        contend("enter_timed", enter_timed);
        contend("enter_write", enter_write);
        contend("enter_mtx", enter_mtx);
    } else if (strcmp(mode, "killed") == 0) {
        contend("enter_mutex", enter_mutex);
        fflush(stdout);
        kill(getpid(), SIGKILL);
    } else if (strcmp(mode, "held") == 0) {
        held();
    } else if (strcmp(mode, "conditions") == 0) {
        conditions();
    } else if (strcmp(mode, "addresses") == 0) {
        addresses();
    } else if (strcmp(mode, "c11") == 0) {
        c11();
    } else if (strcmp(mode, "kinds") == 0) {
        kinds();
    } else if (strcmp(mode, "fork") == 0) {
        forked();
    } else if (strcmp(mode, "open") == 0) {
        opened(words[2]);
    } else if (strcmp(mode, "where") == 0) {
        tell_where("start");
    } else if (strcmp(mode, "asked") == 0) {
        asked();
    } else if (strcmp(mode, "late") == 0) {
        char line[16];
        fgets(line, sizeof line, stdin);
        held();
        fflush(stdout);
        fgets(line, sizeof line, stdin);
    } else if (strcmp(mode, "free") == 0) {
        free_locks(atol(words[2]));
    } else {
        return 2;
    }
    return 0;
}
