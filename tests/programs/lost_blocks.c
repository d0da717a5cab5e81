/* SPDX-License-Identifier: MIT */
/* helper */
/*
 * What programs/lost_blocks_are_found.sh runs: blocks that are owned in each way that there is, and
 * some that are lost. The first argument says which part is left out: "none" loses nothing.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 3, LIST = 100, LOST_LIST = 50, LOST_PLAIN = 20, WIPE = 32 << 10 };

struct node {
    struct node *next;
    char text[40];
};

static struct node *list;
static __thread void *volatile local;
static void **mapped;
static pthread_key_t key;
static pthread_barrier_t barrier;
static void *volatile sink;

static void *thread_polls(void *unused)
{
    void *volatile own = malloc(222);
    local = malloc(444);
    sink = local;
    pthread_setspecific(key, malloc(555));
    pthread_barrier_wait(&barrier);
    for (;;)
        poll(NULL, 0, -1);
    return own;
}

/* It hears no signal: its stack counts from where it sleeps. */
static void *thread_is_deaf(void *unused)
{
    void *volatile own = malloc(333);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
    return own;
}

/* The block's address is in one register and nowhere else. */
static void *thread_spins(void *unused)
{
    pthread_barrier_wait(&barrier);
#if defined(__x86_64__)
    __asm__ volatile("mov $111, %%edi\n\tcall malloc@plt\n\tmov %%rax, %%rbx\n\txor %%eax, %%eax\n"
                     "1: pause\n\tjmp 1b" ::
                         : "memory");
#endif
    for (;;)
        pause();
    return NULL;
}

static __attribute__((noinline)) void keep(void)
{
    for (int i = 0; i < LIST; i++) {
        struct node *node = malloc(sizeof *node);
        node->next = list;
        list = node;
    }
    mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[100] = malloc(777);
}

static __attribute__((noinline)) void lose(void)
{
    struct node *lost = NULL;
    for (int i = 0; i < LOST_LIST; i++) {
        struct node *node = malloc(sizeof *node);
        node->next = lost;
        lost = node;
    }
    sink = lost;
    for (int i = 0; i < LOST_PLAIN; i++)
        sink = malloc(200);
    sink = NULL;
}

/* Registers that nothing uses any more may hold old pointers. */
static __attribute__((noinline)) void registers_clear(void)
{
#if defined(__x86_64__)
    __asm__ volatile(
        "xor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%r8, %%r8\n\t"
        "xor %%r9, %%r9\n\txor %%r10, %%r10\n\txor %%r11, %%r11" ::
            : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
    /* The loader saves those of the vector unit on the stack when exit is first called. */
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
#endif
}

int main(int count, char **words)
{
    void *(*const runs[THREADS])(void *) = {thread_polls, thread_is_deaf, thread_spins};
    pthread_t thread;
    pthread_key_create(&key, NULL);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, runs[i], NULL);
    pthread_barrier_wait(&barrier);
    usleep(100000);
    keep();
    if (count < 2 || strcmp(words[1], "none") != 0)
        lose();
    /* So may dead frames. */
    sink = memset(__builtin_alloca(WIPE), 0, WIPE);
    sink = NULL;
    registers_clear();
    return 0;
}
