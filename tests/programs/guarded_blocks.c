/* SPDX-License-Identifier: MIT */
/* helper: guarded_blocks CASE: what guarded_blocks.sh runs with every block guarded. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern void malloc_stats(void) __attribute__((weak)); /* musl has none */

static sigjmp_buf place;
static char *volatile block;
static volatile sig_atomic_t handled;

static void jump(int number)
{
    handled += number == SIGSEGV;
    siglongjmp(place, 1);
}

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGSEGV && info->si_addr == (void *)(block + 64)) {
        (void)!write(1, "own handler\n", 12);
        _exit(7);
    }
    _exit(8);
}

/* The program's own handler gets the fault, with its address. */
static int own_handler(void)
{
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGSEGV, NULL, &before);
    if (before.sa_sigaction != note)
        return 9;
    block = malloc(64);
    block[64] = 1;
    return 1;
}

/* Faults that are not about blocks pass through, again and again. */
static int foreign_faults(void)
{
    if (signal(SIGSEGV, jump) != SIG_DFL)
        return 9;
    for (volatile int i = 0; i < 100; i++)
        if (sigsetjmp(place, 1) == 0)
            *(volatile char *)(uintptr_t)(4096 * i) = 1;
    if (handled != 100)
        return 1;
    if (signal(SIGSEGV, SIG_DFL) != jump)
        return 9;
    raise(SIGSEGV);
    return 2;
}

static void *churn(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    char *kept[64] = {0};
    for (int i = 0; i < 3000; i++) {
        unsigned at = (state = state * 1103515245 + 12345) >> 16 & 63;
        size_t size = (state >> 8) % 3000;
        if (state >> 24 & 1) {
            kept[at] = realloc(kept[at], size + 1);
        } else {
            free(kept[at]);
            kept[at] = calloc(1, size);
            for (size_t k = 0; k < size; k++)
                if (kept[at][k] != 0)
                    abort();
        }
        memset(kept[at], 7, malloc_usable_size(kept[at]));
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

/* Threads and forked children use blocks of each other, while signals come. */
static int threads_and_forks(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < 10; i++) {
        block = malloc(100);
        pid_t pid = fork();
        int status = 0;
        if (pid == 0) {
            churn((void *)99);
            free(block);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        if (status != 0)
            return 1;
        free(block);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* No addresses: ordinary blocks, and one line that says so. */
static int few_addresses(void)
{
    enum { COUNT = 60000 };
    static char *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(100);
        if (blocks[i] == NULL)
            return 1;
        memset(blocks[i], i, 100);
    }
    for (int i = 0; i < COUNT; i++) {
        if (blocks[i][99] != (char)i)
            return 2;
        free(blocks[i]);
    }
    return 0;
}

/* A system call with a guarded address fails, without a signal. */
static int system_call(void)
{
    int pipes[2];
    block = malloc(64);
    if (pipe(pipes) != 0)
        return 9;
    errno = 0;
    return write(pipes[1], block + 64, 16) == -1 && errno == EFAULT ? 0 : 1;
}

/* Two wrong accesses, after which the program goes on. */
static int goes_on(void)
{
    block = malloc(64);
    block[64] = 1;
    free(block);
    block[0] = 1;
    free(block);
    return 0;
}

/* A guarded block is all that points to a large one, which is not guarded. */
static char **holder;
static int keeps(void)
{
    holder = malloc(64);
    holder[0] = malloc(100000);
    return 0;
}

static int loses(void)
{
    keeps();
    holder[0] = NULL;
    return 0;
}

/* The shapes of blocks. */
static int shapes(void)
{
    for (size_t align = 16; align <= 1 << 20; align *= 2)
        for (size_t size = 0; size < 20000; size = size * 2 + 1) {
            char *p = memalign(align, size);
            if (p == NULL || (uintptr_t)p % align != 0 || malloc_usable_size(p) != size)
                return 1;
            memset(p, 1, size);
            free(p);
        }
    for (size_t size = 16; size < 100000; size += 777) {
        char *p = malloc(size);
        if ((uintptr_t)p % 16 != 0)
            return 2;
        memset(p, 1, size);
        p = realloc(p, size * 2);
        if (p[size - 1] != 1)
            return 3;
        free(p);
    }
    return 0;
}

__attribute__((noinline)) void third_party_writes(void)
{
    block[64] = 1;
    __asm__ volatile("");
}

__attribute__((noinline)) void third_party_frees(void)
{
    free(block);
    __asm__ volatile("");
}

/* Two errors, then statistics. */
static int third_party(void)
{
    block = malloc(64);
    third_party_writes();
    third_party_frees();
    third_party_frees();
    malloc_stats();
    return 0;
}

__attribute__((noinline)) void third_party_uses(void)
{
    block[3] = 1;
    __asm__ volatile("");
}

/* The same access to the same address, of one block after the other. */
static int third_party_again(void)
{
    for (unsigned i = 0; i < 3; i++) {
        block = malloc(64);
        free(block);
        third_party_uses();
    }
    return 0;
}

/* Where no block is and nothing can be opened. */
__attribute__((noinline)) int third_party_strays(void)
{
    block = malloc(64);
    for (size_t far = 1 << 20; far < (size_t)1 << 34; far *= 2)
        block[far] = 1;
    return 0;
}

/* A page that becomes one of the next block's. */
static int reads_far(void)
{
    enum { PAGES = 2 };
    volatile char *far = malloc(64);
    char seen = far[PAGES * (size_t)sysconf(_SC_PAGESIZE)];
    char *next = malloc(64);
    memset(next, seen, 64);
    free(next);
    return 0;
}

static int reads_before(void)
{
    block = malloc(64);
    return block[-16] == 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } cases[] = {{"own_handler", own_handler},
                 {"foreign_faults", foreign_faults},
                 {"threads", threads_and_forks},
                 {"few_addresses", few_addresses},
                 {"system_call", system_call},
                 {"goes_on", goes_on},
                 {"shapes", shapes},
                 {"reads_before", reads_before},
                 {"reads_far", reads_far},
                 {"third_party", third_party},
                 {"third_party_again", third_party_again},
                 {"third_party_strays", third_party_strays},
                 {"keeps", keeps},
                 {"loses", loses}};
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            return cases[i].run();
    return 99;
}
