/* SPDX-License-Identifier: MIT */
/* Signals at a high rate interrupt malloc and free in several threads, on the ordinary and on an
 * alternate stack. The handlers do what handlers may do; errno, the heap and the interrupted calls
 * are unharmed. One handler breaks the rule and allocates, small and large, while every second call
 * of the threads is a slow one: that may be refused, but must neither hang nor crash. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "tests/programs/work.h"

enum { THREADS = 3, TURNS = 2000, SIGNALS_WANTED = 2000, LARGE = 40000, HANDLER_BYTES = 540 };
enum { OFTEN_NS = 100000, INTERVAL_US = 150 };

static atomic_int handled, allocated;

static void count_signal(int number)
{
    int saved = errno;
    handled++;
    errno = number;
    errno = saved;
}

static void allocate_in_handler(int number)
{
    int saved = errno;
    char *small = malloc(HANDLER_BYTES), *large = malloc(LARGE);
    if (small != NULL) {
        memset(small, number, HANDLER_BYTES);
    }
    if (large != NULL) {
        large[LARGE - 1] = (char)number;
    }
    allocated += small != NULL && large != NULL;
    free(large);
    free(small);
    handled++;
    errno = saved;
}

static void *work(void *number)
{
    static _Thread_local char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigset_t none;
    sigemptyset(&none);
    CHECK_EQ(sigaltstack(&stack, NULL), 0);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (unsigned turn = 0; turn < TURNS || handled < SIGNALS_WANTED; turn++) {
        errno = ERRNO_UNTOUCHED;
        void *block = malloc(work_size(turn % 100));
        void *large = malloc(LARGE + turn % 64 * 5000);
        if (!CHECK(block != NULL && large != NULL) || !CHECK_EQ(errno, ERRNO_UNTOUCHED)) {
            break;
        }
        if (turn % 50 == 0 && !CHECK(heap_works(turn))) {
            break;
        }
        free(large);
        free(block);
    }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    return number;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct sigaction counting = {.sa_handler = count_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigaction allocating = {.sa_handler = allocate_in_handler, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, INTERVAL_US}, {0, INTERVAL_US}}, off = {{0, 0}, {0, 0}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec often = {{0, OFTEN_NS}, {0, OFTEN_NS}}, never = {{0, 0}, {0, 0}};
    sigset_t ours;
    timer_t timer;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPROF);
    sigaddset(&ours, SIGVTALRM);
    pthread_sigmask(SIG_BLOCK, &ours, NULL); /* they are for the threads */
    alarm(30);
    /* The clock is a finer one than that of the processor's time. */
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    for (int round = 0; round < 2; round++) {
        handled = 0;
        CHECK_EQ(sigaction(SIGPROF, round == 0 ? &counting : &allocating, NULL), 0);
        CHECK_EQ(sigaction(SIGVTALRM, &counting, NULL), 0);
        CHECK_EQ(timer_settime(timer, 0, &often, NULL), 0);
        setitimer(ITIMER_VIRTUAL, &every, NULL);
        for (int i = 0; i < THREADS; i++) {
            CHECK_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        }
        CHECK_EQ(timer_settime(timer, 0, &never, NULL), 0);
        setitimer(ITIMER_VIRTUAL, &off, NULL);
        CHECK(handled >= SIGNALS_WANTED);
    }
    CHECK(allocated > 0);
    CHECK(heap_works(1));
    return check_result();
}
