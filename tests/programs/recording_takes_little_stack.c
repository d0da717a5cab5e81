/* SPDX-License-Identifier: MIT */
/* How deep malloc goes: on a stack of 16 KiB that is painted before each round. Calls that record
 * every block, one in some, or none; then calls that make a dump on the way, in every format, to a
 * folder that exists and to one that does not. Programs give coroutines such stacks. */
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_set_rate

enum { STACK = 16 << 10, RECORDING_MAX = 4 << 10, DUMPING_MAX = 6 << 10, PAINT = 0xA7 };

static ucontext_t outside, inside;
static unsigned char *stack;

static void allocate(void)
{
    for (unsigned i = 0; i < 3000; i++) {
        void *volatile block = malloc(work_size(i % 100));
        block = realloc(block, 40 + i * 7);
        free(block);
    }
    swapcontext(&inside, &outside);
}

/* Bytes of the stack that were written to. */
static size_t depth(void)
{
    size_t clean = 0;
    memset(stack, PAINT, STACK);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = NULL;
    makecontext(&inside, allocate, 0);
    swapcontext(&outside, &inside);
    while (clean < STACK && stack[clean] == PAINT) {
        clean++;
    }
    return STACK - clean;
}

static void again(char **argv, const char *format, const char *folder)
{
    char options[200];
    snprintf(
        options, sizeof options,
        "heap.rate:4K,dump.every:512K,dump.growth:64K,dump.keep:2,dump.format:%s,dump.prefix:%s",
        format, folder);
    pid_t child = fork();
    if (child == 0) {
        setenv("MEMOIR", options, 1);
        setenv("DUMPING", options, 1);
        execv("/proc/self/exe", argv);
        _exit(1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memoir_set_rate == NULL) {
        return 77;
    }
    if (getenv("DUMPING") != NULL) {
        size_t used = depth();
        printf("%s: %zu\n", getenv("DUMPING"), used);
        CHECK(used <= DUMPING_MAX);
        return check_result();
    }
    static const int64_t rates[] = {512 << 10, 4096, 0, -1};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        memoir_set_rate(rates[i]);
        size_t used = depth();
        printf("rate %ld: %zu\n", (long)rates[i], used);
        CHECK(used <= RECORDING_MAX);
    }
    static const char *const formats[] = {"memoir", "pprof", "jemalloc", "gperftools"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        again(argv, formats[i], "./");
        again(argv, formats[i], "no/such/folder/");
    }
    return check_result();
}
