/* SPDX-License-Identifier: MIT */
/* helper */
/* What programs/heap_checker.sh runs: leaks, and calls of gperftools' heap-checker.h, by the first
 * argument. */
#include <gperftools/heap-checker.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wipe.h"

void *keep;
int *global = new int[30](); /* zeroed: an older block there may have left pointers */
char place[sizeof keep + 1];
static void *volatile sink;

__attribute__((noinline)) static void lose(int count, size_t size)
{
    for (int i = 0; i < count; i++)
        sink = malloc(size);
    sink = NULL;
}

template <int N> __attribute__((noinline)) void many()
{
    lose(1, 16 * N);
    many<N - 1>();
    __asm__ volatile("");
}
template <> void many<0>()
{
}

__attribute__((noinline)) static void ignored()
{
    char *block = (char *)malloc(40);
    HeapLeakChecker::IgnoreObject(block + 8);
    HeapLeakChecker::Disabler disabler;
    lose(3, 50);
}

__attribute__((noinline)) static void keep_inside()
{
    free(keep);
    keep = (char *)malloc(4000) + 2000;
}

static void part()
{
    {
        HeapLeakChecker checker("part");
        lose(2, 77);
        wipe();
        bool none = checker.NoLeaks();
        printf("part %d %zd %zd\n", none, checker.BytesLeaked(), checker.ObjectsLeaked());
    }
    HeapLeakChecker checker("clean");
    ignored();
    wipe();
    printf("clean %d\n", checker.SameHeap());
}

static void whole()
{
    lose(1, 10);
    wipe();
    bool none = HeapLeakChecker::NoGlobalLeaks();
    HeapLeakChecker *checker = HeapLeakChecker::GlobalChecker();
    if (checker != NULL)
        printf("whole %d %zd\n", none, checker->BytesLeaked());
    HeapLeakChecker::CancelGlobalCheck();
}

REGISTER_HEAPCHECK_CLEANUP(mine, puts("cleanup"))

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    keep = malloc(1000);
    if (strcmp(what, "leak") == 0) {
        lose(50, 100);
        lose(3, 5000);
    } else if (strcmp(what, "part") == 0) {
        part();
    } else if (strcmp(what, "whole") == 0) {
        whole();
    } else if (strcmp(what, "many") == 0) {
        many<25>();
    } else if (strcmp(what, "unchecked") == 0) {
        HeapLeakChecker checker("unchecked");
    } else if (strcmp(what, "unignore") == 0) {
        HeapLeakChecker::UnIgnoreObject(keep);
    } else if (strcmp(what, "inside") == 0) {
        keep_inside();
    } else if (strcmp(what, "odd") == 0) { /* the only pointer lies at an odd address */
        memcpy(place + 1, &keep, sizeof keep);
        keep = NULL;
    } else if (strcmp(what, "fork") == 0) {
        lose(5, 10);
        wipe();
        int status = -1;
        fflush(stdout);
        if (fork() == 0)
            exit(0);
        wait(&status);
        printf("child %d\n", status);
    }
    printf("active %d\n", HeapLeakChecker::IsActive());
    wipe();
    return 0;
}
