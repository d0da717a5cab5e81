/* SPDX-License-Identifier: MIT */
/* Handlers that allocate and free interrupt threads which do, while the main thread goes from
 * recording every block to some and to none, and asks for dumps by a signal. Often it is a handler
 * that notices the change, on top of a malloc that is half done. Nothing is handed out twice: two
 * owners would free a block twice, or find it changed. */
#include <signal.h>
#include <sys/time.h>

#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_set_rate
#pragma weak memoir_stop
#pragma weak memoir_start

enum { THREADS = 4, BLOCKS = 200, CHANGES = 300, PERIOD_US = 300 };

static atomic_bool over;

static void handler(int number)
{
    int error = errno;
    unsigned char *block = malloc(40 + (size_t)number);
    block[0] = 1;
    free(block);
    free(calloc(1, 100000));
    errno = error;
}

static void *work(void *seed)
{
    unsigned turn = (unsigned)(uintptr_t)seed;
    unsigned char *blocks[BLOCKS] = {NULL};
    size_t sizes[BLOCKS] = {0};
    while (!over) {
        turn = turn * 1103515245u + 12345u;
        unsigned i = (turn >> 16) % BLOCKS;
        if (blocks[i] != NULL &&
            (blocks[i][0] != (unsigned char)i || blocks[i][sizes[i] - 1] != (unsigned char)i)) {
            CHECK(!"a block with one owner");
        }
        size_t size = 1 + (turn >> 8) % (turn % 64 ? 500 : 90000);
        if (blocks[i] != NULL && turn % 3 == 0) {
            blocks[i] = realloc(blocks[i], size);
        } else {
            free(blocks[i]);
            blocks[i] = malloc(size);
        }
        sizes[i] = size;
        blocks[i][0] = blocks[i][size - 1] = (unsigned char)i;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    return NULL;
}

static void change(unsigned i)
{
    if (i % 4 == 3) {
        memoir_stop();
    } else {
        memoir_start(i % 4 == 0 ? 0 : i % 4 == 1 ? 4096 : 512 << 10);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    if (memoir_set_rate == NULL) {
        return 77;
    }
    if (getenv("MEMOIR") == NULL) {
        setenv("MEMOIR", "dump.signal:12,dump.keep:2,dump.format:pprof,dump.prefix:./signals", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    }
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* for the others */
    struct itimerval often = {{0, PERIOD_US}, {0, PERIOD_US}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; i < CHANGES; i++) {
        change(i);
        if (i % 16 == 0) {
            kill(getpid(), 12);
        }
        usleep(10000);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    over = true;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return check_result();
}
