/* SPDX-License-Identifier: MIT */
/* timeout=300 */
/*
 * While a thread's rate moves (lib/heap/pace.h), a dump says what is live. Rounds of fast churn and
 * short sleeps; at the end of each all blocks are of this round, and what the dump says of a size
 * is divided by the truth. The mean of all rounds must be 1 within 5.5 of its standard errors,
 * which the rounds themselves tell: so nothing depends on how fast the machine is.
 *
 * The judge must refuse what the dump would say if each sample were taken for one at the rate of
 * the option; unless the machine is so slow that nothing was doubled.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memoir/memoir.h"

#pragma weak memoir_stats
#pragma weak memoir_dump

enum { SIZES = 3, SLOTS = 6000, TURNS = 3, ROUNDS = 60, CODE_MAX = 200 };
static const double rate = 512 << 10;

#define PLACE(n)                                                                \
    static __attribute__((noinline, aligned(256))) void *place_##n(size_t size) \
    {                                                                           \
        void *volatile block = malloc(size);                                    \
        return block;                                                           \
    }
PLACE(0)
PLACE(1)
PLACE(2)
static void *(*const places[SIZES])(size_t) = {place_0, place_1, place_2};
static const size_t sizes[SIZES] = {4096, 16384, 32768};

static void *blocks[SIZES][SLOTS];
static double found[SIZES], truth[SIZES];

static unsigned random_next(void)
{
    static unsigned state = 12345;
    return state = state * 1664525 + 1013904223;
}

/* Replaces all blocks, some of them again and again; half of the rounds sleep in between. */
static void churn(unsigned round)
{
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned i = 0; i < SLOTS; i++)
            for (unsigned k = 0; k < SIZES; k++) {
                unsigned slot = turn == 0 ? i : random_next() % SLOTS;
                free(blocks[k][slot]);
                blocks[k][slot] = places[k](sizes[k]);
                if (round % 2 == 0 && i % 1500 == 0)
                    usleep(2000);
            }
}

static void read_dump(const char *name)
{
    char line[4096];
    double scale = 0, objects, bytes;
    unsigned long pc;
    int place = -1;
    FILE *file = fopen(name, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL ||
        sscanf(line, "heap_v2/%lf", &scale) != 1 || scale != rate) {
        printf("%s can't be read\n", name);
        exit(2);
    }
    memset(found, 0, sizeof found);
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "MAPPED", 6) != 0) {
        if (sscanf(line, "@ %lx", &pc) == 1) {
            place = -1;
            for (int k = 0; k < SIZES; k++)
                if ((uintptr_t)places[k] < pc && pc < (uintptr_t)places[k] + CODE_MAX)
                    place = k;
        } else if (place >= 0 && sscanf(line, " t*: %lf: %lf", &objects, &bytes) == 2) {
            if (objects > 0)
                found[place] += bytes / -expm1(-bytes / objects / rate);
            place = -1;
        }
    }
    fclose(file);
}

static uint64_t samples_live(void)
{
    struct memoir_stats stats;
    if (!memoir_stats(&stats, sizeof stats))
        exit(2);
    return stats.samples_live;
}

struct mean {
    double sum, squares;
};

static void mean_add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->squares += value * value;
}

static bool is_one(const char *what, const struct mean *mean)
{
    double is = mean->sum / ROUNDS;
    double error = sqrt((mean->squares / ROUNDS - is * is) / (ROUNDS - 1));
    bool fits = fabs(is - 1) <= 5.5 * error;
    printf("%s: %.3f of the truth, standard error %.3f: %s\n", what, is, error,
           fits ? "fits" : "is off");
    return fits;
}

int main(int argc, char **argv)
{
    struct mean ratio[SIZES] = {{0, 0}}, planted = {0, 0};
    (void)argc;
    if (memoir_stats == NULL || memoir_dump == NULL)
        return 77;
    if (getenv("MEMOIR") == NULL) {
        setenv("MEMOIR", "dump.format:jemalloc", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        double all = 0;
        churn(round);
        if (memoir_dump("paced.heap") != 0)
            exit(2);
        read_dump("paced.heap");
        for (unsigned k = 0; k < SIZES; k++) {
            truth[k] = 0;
            for (unsigned i = 0; i < SLOTS; i++)
                truth[k] += (double)malloc_usable_size(blocks[k][i]);
            mean_add(&ratio[k], found[k] / truth[k]);
            all += truth[k];
        }
        mean_add(&planted, (double)samples_live() * rate / all);
    }
    unlink("paced.heap");
    bool right = true;
    for (unsigned k = 0; k < SIZES; k++) {
        char what[32];
        snprintf(what, sizeof what, "%zu bytes", sizes[k]);
        right &= is_one(what, &ratio[k]);
    }
    bool doubled = planted.sum / ROUNDS < 0.9;
    if (is_one("all at the rate of the option", &planted) && doubled)
        right = false;
    printf("%s\n", right ? "passed" : "FAILED");
    return right ? 0 : 1;
}
