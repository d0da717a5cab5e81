/* SPDX-License-Identifier: MIT */
/*
 * What a stack walk costs:   build/bench/walk [ROUNDS]
 *
 * Nanoseconds a walk at 10, 30 and 60 frames, for four walkers in turn: frame pointers (on copies
 * of the functions that keep them), ours, libunwind's unw_backtrace and libgcc's
 * _Unwind_Backtrace (each asked of its own library, since libunwind has one, too). Three kinds of
 * stacks: always the same one; one whose last five frames change with every walk; and 64 random
 * ones in turn. Each figure is that of the quietest round; in a round all take their turns.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/watch/unwind.h"

enum { FUNCTIONS = 64, DEEPEST = 60, STACKS = 64, TOP = 5, REPEATS = 64, ROUNDS_MAX = 1000 };
/* Frames below and above the functions; libc's three have no frame pointers. */
enum { OTHERS = 9, UNSEEN = 3 };
enum shape { SAME, TOP_CHANGES, RANDOM, SHAPES };
enum walker { FRAME_POINTERS, OURS, LIBUNWIND, LIBGCC, WALKERS };

static const char *const shape_names[] = {"same", "top changes", "random"};
static const char *const walker_names[] = {"frame pointers", "memoir", "libunwind", "libgcc"};

static struct walk walk;
static void *addresses[2 * WALK_MAX];
static int (*unw_backtrace)(void **, int);
static int (*gcc_backtrace)(int (*)(void *, void *), void *);
static uintptr_t (*gcc_address)(void *);

static enum shape shape;
static enum walker walker;
static unsigned depth;
static unsigned char path[STACKS][DEEPEST + 1];
static unsigned stack;
static double sum_ns;
static unsigned walks;
static unsigned frames_seen;

typedef void function(unsigned left);
static function *const kept_table[FUNCTIONS], *const plain_table[FUNCTIONS];

/* These stand in all stacks. */
#define KEPT __attribute__((noinline, optimize("no-omit-frame-pointer")))

static __attribute__((noinline)) unsigned walk_ours(void)
{
    struct caller from = CALLER_HERE;
    unwind(&walk, &from, WALK_MAX);
    return walk.count;
}

static KEPT unsigned walk_pointers(void)
{
    uintptr_t *frame = __builtin_frame_address(0);
    unsigned count = 0;
    while (count < depth && (uintptr_t *)frame[0] > frame) {
        addresses[count++] = (void *)frame[1];
        frame = (uintptr_t *)frame[0];
    }
    return count;
}

static int gcc_step(void *context, void *count)
{
    addresses[(*(unsigned *)count)++] = (void *)gcc_address(context);
    return 0;
}

static __attribute__((noinline)) unsigned walk_gcc(void)
{
    unsigned count = 0;
    gcc_backtrace(gcc_step, &count);
    return count;
}

static __attribute__((noinline)) unsigned walk_libunwind(void)
{
    return (unsigned)unw_backtrace(addresses, 2 * WALK_MAX);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Lets what was begun before end before what comes after: else the clock's own arithmetic, and one
 * walk after another, would overlap as they never do in a program. */
static inline void settle(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#else
    __asm__ volatile("isb" ::: "memory");
#endif
}

static __attribute__((noinline)) unsigned walk_nothing(void)
{
    __asm__ volatile("");
    return 0;
}

static KEPT double once_ns(unsigned (*what)(void))
{
    double start = now_ns();
    settle();
    unsigned seen = what();
    settle();
    double end = now_ns();
    frames_seen = seen;
    return end - start;
}

static double clock_cost_ns;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What looking at the clock takes: subtracted from each walk. The least of all times that it was
 * measured, since a disturbed one would make walks look shorter than they are. */
static void clock_measure(void)
{
    enum { TIMES = 1001 };
    static double costs[TIMES];
    for (int i = 0; i < TIMES; i++)
        costs[i] = once_ns(walk_nothing);
    qsort(costs, TIMES, sizeof costs[0], compare);
    if (clock_cost_ns == 0 || costs[TIMES / 2] < clock_cost_ns)
        clock_cost_ns = costs[TIMES / 2];
}

static KEPT void arrive(void)
{
    static unsigned (*const walkers[])(void) = {walk_pointers, walk_ours, walk_libunwind, walk_gcc};
    unsigned times = shape == SAME ? REPEATS : 1;
    for (unsigned i = 0; i < times; i++)
        sum_ns += once_ns(walkers[walker]) - clock_cost_ns;
    walks += times;
}

static KEPT void call(unsigned left)
{
    (walker == FRAME_POINTERS ? kept_table : plain_table)[path[stack][left]](left);
    __asm__ volatile("");
}

static KEPT void change_top(unsigned left)
{
    for (unsigned i = 0; i < REPEATS; i++) {
        for (unsigned k = 1; k <= TOP; k++)
            path[stack][k] = (unsigned char)(rand() % FUNCTIONS);
        call(left);
    }
}

/* Functions of many frame sizes that differ in what they save. */
#define FUNCTION(name, n, attribute)                                            \
    attribute static void name##n(unsigned left)                                \
    {                                                                           \
        uint64_t pad[1 + (n) % 7], a = left * 3u, b = a + (n), c = b ^ 5;       \
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c) : "r"(pad) : "memory"); \
        if (--left == 0)                                                        \
            arrive();                                                           \
        else if (shape == TOP_CHANGES && left == TOP)                           \
            change_top(left);                                                   \
        else                                                                    \
            name##_table[path[stack][left]](left);                              \
        if ((n) % 2)                                                            \
            __asm__ volatile("" : : "r"(a));                                    \
        if ((n) % 3)                                                            \
            __asm__ volatile("" : : "r"(b), "r"(c));                            \
        __asm__ volatile("" : : "r"(pad) : "memory");                           \
    }
#define PLAIN            __attribute__((noinline))
#define FOUR(m, n)       m(n##0) m(n##1) m(n##2) m(n##3)
#define SIXTEEN(m, n)    FOUR(m, n##0) FOUR(m, n##1) FOUR(m, n##2) FOUR(m, n##3)
#define SIXTY_FOUR(m)    SIXTEEN(m, 10) SIXTEEN(m, 11) SIXTEEN(m, 12) SIXTEEN(m, 13)
#define FUNCTION_OF(n)   FUNCTION(plain, n, PLAIN)
#define FUNCTION_KEPT(n) FUNCTION(kept, n, KEPT)
#define PLAIN_NAME(n)    plain##n,
#define KEPT_NAME(n)     kept##n,
SIXTY_FOUR(FUNCTION_OF)
SIXTY_FOUR(FUNCTION_KEPT)
static function *const kept_table[FUNCTIONS] = {SIXTY_FOUR(KEPT_NAME)};
static function *const plain_table[FUNCTIONS] = {SIXTY_FOUR(PLAIN_NAME)};

static KEPT double measure(void)
{
    sum_ns = 0;
    walks = 0;
    for (unsigned i = 0; i < STACKS; i++) {
        stack = shape == RANDOM ? i : 0;
        call(depth - OTHERS + (walker == FRAME_POINTERS ? UNSEEN : 0));
    }
    return sum_ns / walks;
}

static double results[SHAPES][WALKERS][ROUNDS_MAX];

static int too_short(enum shape which)
{
    return which == TOP_CHANGES && depth <= OTHERS + TOP;
}

static KEPT void at_depth(unsigned frames, unsigned rounds)
{
    depth = frames;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < STACKS; i++)
            for (unsigned k = 0; k <= DEEPEST; k++)
                path[i][k] = (unsigned char)(rand() % FUNCTIONS);
        for (unsigned s = 0; s < SHAPES; s++)
            for (unsigned w = 0; w < WALKERS && !too_short(s); w++) {
                shape = s;
                walker = w;
                measure(); /* warm */
                results[s][w][round] = measure();
                if (frames_seen < frames)
                    fprintf(stderr, "%s saw %u frames only\n", walker_names[w], frames_seen);
            }
    }
    for (unsigned s = 0; s < SHAPES; s++) {
        if (too_short(s))
            continue;
        printf("%2u frames, %-12s", frames, shape_names[s]);
        for (unsigned w = 0; w < WALKERS; w++) {
            qsort(results[s][w], rounds, sizeof(double), compare);
            double best = results[s][w][0], first = results[s][0][0];
            printf("  %s %.0f ns (%.1f)", walker_names[w], best, best / first);
        }
        printf("\n");
    }
}

KEPT int main(int count, char **arguments)
{
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 15;
    void *unw = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *gcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (unw == NULL || gcc == NULL || rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: walk [ROUNDS]; libunwind8 and libgcc-s1 must be installed\n");
        return 2;
    }
    *(void **)&unw_backtrace = dlsym(unw, "unw_backtrace");
    *(void **)&gcc_backtrace = dlsym(gcc, "_Unwind_Backtrace");
    *(void **)&gcc_address = dlsym(gcc, "_Unwind_GetIP");
    for (int i = 0; i < 200; i++)
        clock_measure();
    at_depth(10, rounds);
    at_depth(30, rounds);
    at_depth(60, rounds);
    return 0;
}
