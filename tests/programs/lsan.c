/* SPDX-License-Identifier: MIT */
/* helper */
/* What programs/lsan.sh runs: leaks, and the calls of sanitizer/lsan_interface.h, by the first
 * argument. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "wipe.h"

void __lsan_do_leak_check(void);
int __lsan_do_recoverable_leak_check(void);
void __lsan_disable(void);
void __lsan_enable(void);
void __lsan_ignore_object(const void *block);
void __lsan_register_root_region(const void *start, size_t size);
void __lsan_unregister_root_region(const void *start, size_t size);

#ifdef OWN_OPTIONS
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "exitcode=7:max_leaks=1";
}
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "# known\nleak:lose_list\n";
}
#endif
#ifdef TURNED_OFF
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
#endif

struct node {
    struct node *next;
    char text[32];
};

char *keep;
static void *volatile sink;

__attribute__((noinline)) static void lose_plain(int count)
{
    for (int i = 0; i < count; i++)
        sink = malloc(100);
    sink = NULL;
}

__attribute__((noinline)) static void lose_list(void)
{
    struct node *list = NULL;
    for (int i = 0; i < 10; i++) {
        struct node *node = malloc(sizeof *node);
        node->next = list;
        list = node;
    }
    sink = list;
    sink = NULL;
}

__attribute__((noinline)) static void hide(uintptr_t *hidden)
{
    __lsan_disable();
    lose_plain(3);
    __lsan_enable();
    void *block = malloc(50);
    __lsan_ignore_object(block);
    *hidden = ~(uintptr_t)malloc(60);
}

static void calls(void)
{
    static uintptr_t hidden;
    hide(&hidden);
    int file = memfd_create("shared", 0);
    if (file < 0 || ftruncate(file, 4096) != 0)
        abort();
    uintptr_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    shared[7] = ~hidden;
    __lsan_register_root_region(shared, 4096);
    wipe();
    printf("registered %d\n", __lsan_do_recoverable_leak_check());
    __lsan_unregister_root_region(shared, 4096);
    wipe();
    printf("unregistered %d\n", __lsan_do_recoverable_leak_check());
    fflush(stdout);
    wipe();
    __lsan_do_leak_check();
    puts("not reached");
}

static __thread char *volatile local;
static pthread_key_t key;
static pthread_barrier_t both;

/* One block that a thread-local variable points to, one that a key does, and one on the stack. */
static void *hold(void *unused)
{
    char *volatile on_stack = malloc(70);
    (void)unused;
    local = malloc(80);
    pthread_setspecific(key, malloc(90));
    pthread_barrier_wait(&both);
    for (;;)
        *(volatile char *)on_stack = 0;
    return NULL;
}

static void thread_holds(void)
{
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_key_create(&key, NULL);
    pthread_create(&thread, NULL, hold, NULL);
    pthread_barrier_wait(&both);
}

/* The error of the last call of the loader's is the program's: the calls here leave it. */
static void loader_error(void)
{
    __lsan_disable();
    __lsan_enable();
    __lsan_ignore_object(&keep);
    const char *error = dlerror();
    printf("loader %s\n", error == NULL ? "none" : error);
    dlopen("/nowhere", RTLD_NOW);
    __lsan_disable();
    __lsan_enable();
    error = dlerror();
    printf("loader %.8s\n", error == NULL ? "none" : error);
}

static void fork_leaks(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        lose_plain(2);
        wipe();
        exit(0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    keep = (char *)malloc(5000) + 3000; /* any pointer into a block counts */
    if (strcmp(what, "leak") == 0) {
        lose_plain(5);
        lose_list();
    } else if (strcmp(what, "calls") == 0) {
        calls();
    } else if (strcmp(what, "thread") == 0) {
        thread_holds();
    } else if (strcmp(what, "loader") == 0) {
        loader_error();
    } else if (strcmp(what, "fork") == 0) {
        fork_leaks();
    }
    puts("end");
    wipe();
    return 0;
}
