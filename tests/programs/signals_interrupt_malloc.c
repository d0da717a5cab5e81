/* SPDX-License-Identifier: MIT */
/* Signals at a high rate interrupt malloc and free in several threads, on the ordinary and on an
 * alternate stack. The handlers do what handlers may do; errno, the heap and the interrupted calls
 * are unharmed. One handler breaks the rule and allocates: that may be refused, but must neither
 * hang nor crash. */
#include <signal.h>
#include <sys/time.h>

#include "tests/programs/work.h"

enum { THREADS = 3, TURNS = 20000, INTERVAL_US = 150, SIGNALS_WANTED = 300 };

static atomic_int handled, allocated;
static atomic_bool stop;

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
    void *block = malloc((size_t)number * 20);
    allocated += block != NULL;
    free(block);
    errno = saved;
}

static void *work(void *number)
{
    static _Thread_local char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    CHECK_EQ(sigaltstack(&stack, NULL), 0);
    for (unsigned turn = 0; (turn < TURNS || handled < SIGNALS_WANTED) && !stop; turn++) {
        errno = ERRNO_UNTOUCHED;
        void *block = malloc(work_size(turn % 100));
        if (!CHECK(block != NULL) || !CHECK_EQ(errno, ERRNO_UNTOUCHED)) {
            break;
        }
        if (turn % 50 == 0 && !CHECK(heap_works(turn))) {
            break;
        }
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
    alarm(100);
    for (int round = 0; round < 2; round++) {
        handled = 0;
        CHECK_EQ(sigaction(SIGPROF, round == 0 ? &counting : &allocating, NULL), 0);
        CHECK_EQ(sigaction(SIGVTALRM, &counting, NULL), 0);
        setitimer(ITIMER_PROF, &every, NULL);
        setitimer(ITIMER_VIRTUAL, &every, NULL);
        for (int i = 0; i < THREADS; i++) {
            CHECK_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        }
        setitimer(ITIMER_PROF, &off, NULL);
        setitimer(ITIMER_VIRTUAL, &off, NULL);
    }
    CHECK(handled >= SIGNALS_WANTED);
    CHECK(allocated > 0);
    CHECK(heap_works(1));
    return check_result();
}
