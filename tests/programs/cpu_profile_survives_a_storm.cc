// SPDX-License-Identifier: MIT
// helper: built by cpu_profile_survives_a_storm.sh. While a CPU profile runs, threads throw, others
// load and unload a library and run its code, allocate and free, fork, start short threads,
// jump out of signal handlers and switch stacks; and a timer of the program's own interrupts all of
// them. Each kind of work must make progress, and errno must stay what it was.
//
//     storm LIBRARY SECONDS
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <vector>

enum kind { THROW, LOAD, ALLOCATE, FORK, START, JUMP, SWITCH, ERRNO, KINDS };
static const int threads_of[KINDS] = {4, 4, 2, 2, 2, 2, 2, 2};
enum { THREADS = 20 };
static const char *const names[] = {"throw", "load", "allocate", "fork",
                                    "start", "jump", "switch",   "errno"};
static std::atomic<long> done[KINDS];
static std::atomic<bool> over;
static std::atomic<long> wrong;
static const char *library;
static volatile sig_atomic_t alarms;

__attribute__((noinline)) static int throw_deep(int depth)
{
    volatile char room[100];
    room[0] = (char)depth;
    if (depth == 0)
        throw std::runtime_error("storm");
    return throw_deep(depth - 1) + room[0];
}

static void work_throw()
{
    try {
        throw_deep(20);
    } catch (const std::exception &) {
    }
}

static void nothing()
{
}

static void work_load()
{
    void *handle = dlopen(library, RTLD_NOW);
    if (handle == nullptr)
        abort();
    auto call = (void (*)(void (*)()))dlsym(handle, "call");
    for (int i = 0; i < 100; i++)
        call(nothing);
    dlclose(handle);
}

static void work_allocate()
{
    std::vector<void *> blocks;
    for (size_t i = 1; i < 500; i++)
        blocks.push_back(malloc(i * 37 % 5000));
    for (void *block : blocks)
        free(block);
}

static void work_fork()
{
    pid_t child = fork();
    if (child == 0) {
        free(malloc(100));
        _exit(7);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        wrong++;
}

static void *run_short(void *argument)
{
    return argument;
}

static void work_start()
{
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run_short, nullptr) == 0)
        pthread_join(thread, nullptr);
    else
        wrong++;
}

static thread_local sigjmp_buf place;
static thread_local volatile bool may_jump;

static void on_jump(int)
{
    if (may_jump) {
        may_jump = false;
        siglongjmp(place, 1);
    }
}

static void work_jump()
{
    if (sigsetjmp(place, 1) == 0) {
        may_jump = true;
        pthread_kill(pthread_self(), SIGUSR1);
        may_jump = false;
    }
}

static thread_local ucontext_t outside, inside;
static void run_inside()
{
    for (volatile int i = 0; i < 2000; i++) {
    }
}

static void work_switch()
{
    static thread_local char stack[64 << 10];
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, run_inside, 0);
    swapcontext(&outside, &inside);
}

static void work_errno()
{
    errno = 12345;
    for (volatile int i = 0; i < 20000; i++) {
    }
    if (errno != 12345)
        wrong++;
}

static void (*const works[])() = {work_throw, work_load, work_allocate, work_fork,
                                  work_start, work_jump, work_switch,   work_errno};

static void *run(void *argument)
{
    long kind = (long)argument;
    while (!over) {
        works[kind]();
        done[kind]++;
    }
    return nullptr;
}

static void on_alarm(int)
{
    alarms = alarms + 1;
}

int main(int, char **arguments)
{
    pthread_t threads[THREADS];
    library = arguments[1];
    struct sigaction action = {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    action.sa_handler = on_jump;
    sigaction(SIGUSR1, &action, nullptr);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, nullptr);
    int started = 0;
    for (long kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < threads_of[kind]; i++)
            pthread_create(&threads[started++], nullptr, run, (void *)kind);
    struct timespec until, now;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += atoi(arguments[2]);
    do {
        usleep(10000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < until.tv_sec);
    over = true;
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    setitimer(ITIMER_REAL, nullptr, nullptr);
    for (int i = 0; i < KINDS; i++) {
        printf("%s %ld\n", names[i], done[i].load());
        if (done[i] == 0)
            wrong++;
    }
    printf("alarms %d\n", (int)alarms);
    return wrong != 0 || alarms == 0;
}
