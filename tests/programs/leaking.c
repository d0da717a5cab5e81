/* SPDX-License-Identifier: MIT */
/* helper: leaks a known amount from two functions, 3235840 bytes in 80 blocks and 3194880 in 40;
 * the first argument says what else happens on the way. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern void HeapProfilerStart(const char *) __attribute__((weak));
extern void HeapProfilerStop(void) __attribute__((weak));
extern void HeapProfilerDump(const char *) __attribute__((weak));

#ifdef BUILT_IN_OPTIONS
const char *malloc_conf = BUILT_IN_OPTIONS;
#endif

static void *volatile sink;

__attribute__((noinline)) void do_something(size_t i)
{
    sink = malloc(i * 1024);
}

__attribute__((noinline)) void do_something_else(size_t i)
{
    sink = malloc(i * 4096);
}

static void first_half(void)
{
    for (size_t i = 0; i < 80; i++)
        do_something(i);
}

static void second_half(void)
{
    for (size_t i = 0; i < 40; i++)
        do_something_else(i);
}

static int dump(void)
{
    return mallctl("prof.dump", NULL, NULL, NULL, 0);
}

static int set_active(bool active)
{
    return mallctl("prof.active", NULL, NULL, &active, sizeof active);
}

static int by_mallctl(bool steady)
{
    int failed = steady ? 0 : dump();
    first_half();
    failed |= steady ? set_active(true) : dump();
    second_half();
    failed |= dump();
    return failed;
}

/* The profiler's functions, found by name in a library that is opened. */
static int by_dlopen(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (handle == NULL)
        return 3;
    void (*start)(const char *) = (void (*)(const char *))dlsym(handle, "HeapProfilerStart");
    void (*stop)(void) = (void (*)(void))dlsym(handle, "HeapProfilerStop");
    void (*dump_now)(const char *) = (void (*)(const char *))dlsym(handle, "HeapProfilerDump");
    if (start == NULL || stop == NULL || dump_now == NULL)
        return 4;
    start("opened");
    first_half();
    dump_now("over");
    stop();
    return dlclose(handle);
}

__attribute__((noinline)) static char *map_some(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* 6 MiB of mappings are left, and 100000 bytes by sbrk. */
static int with_mappings(void)
{
    char *gone = map_some(3 << 20), *cut = map_some(2 << 20), *grown = map_some(1 << 20);
    return munmap(gone, 3 << 20) != 0 || munmap(cut + (1 << 20), 1 << 20) != 0 ||
           mremap(grown, 1 << 20, 5 << 20, MREMAP_MAYMOVE) == MAP_FAILED ||
           sbrk(100000) == (void *)-1;
}

static int with_child(void)
{
    first_half();
    pid_t child = fork();
    if (child == 0) {
        second_half();
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "mallctl") == 0)
        return by_mallctl(false);
    if (strcmp(what, "steady") == 0)
        return by_mallctl(true);
    if (strcmp(what, "dlopen") == 0)
        return by_dlopen(argv[2]);
    if (strcmp(what, "fork") == 0)
        return with_child();
    if (strcmp(what, "mmap") == 0) {
        first_half();
        return with_mappings();
    }
    if (strcmp(what, "block") == 0) {
        first_half();
        HeapProfilerStart("block");
        second_half();
        HeapProfilerDump("end of the block");
        HeapProfilerStop();
        return 0;
    }
    first_half();
    if (strcmp(what, "signal") == 0)
        kill(getpid(), SIGUSR2);
    if (strcmp(what, "print") == 0)
        printf("not lost");
    second_half();
    return 0;
}
