/* SPDX-License-Identifier: MIT */
/* timeout=900 */
/* A live block of usable size s is a sample with probability p = 1 - exp(-s / rate), whichever call
 * made it, and what the profile estimates from that is the truth on average. For every class, at
 * its least, a middle and its largest size, and for large blocks: malloc, calloc, aligned blocks,
 * operator new, and realloc that moves, grows in steps, shrinks, or leaves the block where it is.
 * At fixed rates, where small blocks wait for thousands of their kind and large ones for less than
 * one, unlike the rates of sampling_is_unbiased.c, which follow the size.
 *
 * A cell is one call and one size: x of n blocks are samples. The chance to be that far off is at
 * most exp(-n * KL(x / n, p)), whatever n and p are. Over the cells of a call, the sum of 2 * n *
 * KL is about chi-square, and the sum of x is about normal. A right sampler breaks any of these
 * limits once in ten million runs. Bytes as a dump has them, by call and range of sizes, must agree
 * with the truth within the same limit.
 *
 * The control: the counts are judged again as if blocks were one class larger, as if one in eight
 * samples were lost, and as if one cell had none. */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memoir/memoir.h"

#pragma weak memoir_stats
#pragma weak memoir_set_rate
#pragma weak memoir_dump
extern void *_Znwm(size_t) __attribute__((weak));
extern void *_ZnwmSt11align_val_t(size_t, size_t) __attribute__((weak));

enum {
    SIZES_MAX = 300,
    BATCH = 16384,          /* blocks that live at once, */
    BATCH_BYTES = 16 << 20, /* and their bytes */
    EXPECTED_MIN = 8,       /* samples of a cell that is worth a look */
    CODE_MAX = 600,         /* bytes of a function below */
    RANGES = 5,
    RANGE_BYTES = 6 << 20, /* of blocks for one estimate */
};
static const double cell_limit = 26; /* exp(-26) a cell, and there are about 4,000 */
static const double sigmas = 6.2;

/* One function a path, so that the return address tells them apart. `n` varies alignments. */
#define PATH(name, ...)                                                                \
    static __attribute__((noinline, noclone)) void *by_##name(size_t size, unsigned n) \
    {                                                                                  \
        void *block = NULL;                                                            \
        (void)n;                                                                       \
        __VA_ARGS__;                                                                   \
        __asm__ volatile("" : "+r"(block) : : "memory");                               \
        return block;                                                                  \
    }
#define ALIGN_OF(n) ((size_t)32 << (n) % 9)

PATH(malloc, block = malloc(size))
PATH(calloc, block = calloc(1, size))
PATH(aligned_alloc, block = aligned_alloc(ALIGN_OF(n), size))
PATH(posix_memalign, if (posix_memalign(&block, ALIGN_OF(n), size) != 0) block = NULL)
PATH(new, block = _Znwm(size))
PATH(new_aligned, block = _ZnwmSt11align_val_t(size, ALIGN_OF(n)))
PATH(realloc_null, block = realloc(NULL, size))
PATH(realloc_moving, block = realloc(malloc(1), size))
PATH(realloc_growing, block = realloc(realloc(malloc(size / 5 + 1), size / 2 + 1), size))
PATH(realloc_in_place, block = malloc(size); block = realloc(block, malloc_usable_size(block)))
PATH(realloc_shrinking, block = realloc(malloc(size * 3), size))
PATH(malloc_again, free(malloc(size)); block = malloc(size)) /* of what was just freed */

struct path {
    const char *name;
    void *(*take)(size_t size, unsigned n);
};
#define ROW(name)        \
    {                    \
#name, by_##name \
    }
static const struct path paths[] = {ROW(malloc),
                                    ROW(calloc),
                                    ROW(aligned_alloc),
                                    ROW(posix_memalign),
                                    ROW(new),
                                    ROW(new_aligned),
                                    ROW(realloc_null),
                                    ROW(realloc_moving),
                                    ROW(realloc_growing),
                                    ROW(realloc_in_place),
                                    ROW(realloc_shrinking),
                                    ROW(malloc_again)};
enum { PATHS = sizeof paths / sizeof *paths };

struct cell {
    size_t size, usable;
    double trials, got;
};

static size_t sizes[SIZES_MAX];
static unsigned size_count;
static struct cell cells[SIZES_MAX];
static unsigned cell_count;
static bool brief;
static unsigned failures;

static double odds(size_t usable, double rate)
{
    return -expm1(-(double)usable / rate);
}

static void find_sizes(void)
{
    size_t min = 1, before = 0;
    for (size_t size = 1; size <= 32769; size++) {
        void *block = malloc(size);
        size_t usable = malloc_usable_size(block);
        free(block);
        if (usable == before)
            continue;
        if (before != 0) {
            sizes[size_count++] = min;
            sizes[size_count++] = (min + before) / 2;
            sizes[size_count++] = before;
        }
        min = size;
        before = usable;
    }
    static const size_t large[] = {32769, 40000, 65536, 100000, 300000, 1000000};
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        sizes[size_count++] = large[i];
}

static uint64_t samples_live(void)
{
    struct memoir_stats stats;
    if (!memoir_stats(&stats, sizeof stats))
        abort();
    return stats.samples_live;
}

static void *take(const struct path *path, size_t size, unsigned n)
{
    void *block = path->take(size, n);
    if (block == NULL) {
        printf("%s: no memory for %zu bytes\n", path->name, size);
        exit(2);
    }
    return block;
}

/* Makes enough blocks for `expected` samples, some at a time. */
static void cell_run(const struct path *path, struct cell *cell, unsigned n, double rate,
                     double expected)
{
    static void *blocks[BATCH];
    blocks[0] = take(path, cell->size, n);
    cell->usable = malloc_usable_size(blocks[0]);
    free(blocks[0]);
    double p = odds(cell->usable, rate), trials = ceil(expected / p), max = brief ? 1e5 : 3e7;
    trials = trials > max ? max : trials < 200 ? 200 : trials;
    cell->trials = cell->got = 0;
    if (trials * p < EXPECTED_MIN)
        return;
    size_t batch = BATCH_BYTES / cell->usable;
    batch = batch > BATCH ? BATCH : batch < 16 ? 16 : batch;
    while (cell->trials < trials) {
        uint64_t before = samples_live();
        for (size_t i = 0; i < batch; i++) {
            blocks[i] = take(path, cell->size, n);
            if (malloc_usable_size(blocks[i]) != cell->usable) {
                printf("%s: blocks of %zu bytes differ\n", path->name, cell->size);
                exit(2);
            }
        }
        cell->got += (double)(samples_live() - before);
        cell->trials += (double)batch;
        for (size_t i = 0; i < batch; i++)
            free(blocks[i]);
        if (samples_live() != before) {
            printf("%s: samples of %zu bytes stay live\n", path->name, cell->size);
            failures++;
            return;
        }
    }
}

/* n * KL(x / n, p): the chance of x or something further off, on its side, is at most exp of less
 * that. */
static double distance(double x, double n, double p)
{
    double q = x / n, sum = 0;
    if (q > 0)
        sum += x * log(q / p);
    if (q < 1)
        sum += (n - x) * log((1 - q) / (1 - p));
    return sum < 0 ? 0 : sum;
}

/* Chi-square with `freedom` degrees exceeds this as rarely as a normal value exceeds `sigmas`
 * (Wilson and Hilferty), and a little more, as counts are not quite normal. */
static double chi_limit(double freedom)
{
    double part = 2 / (9 * freedom), root = 1 - part + sigmas * sqrt(part);
    return 1.02 * freedom * root * root * root;
}

enum plant { PLANT_NOTHING, PLANT_NEXT_CLASS, PLANT_LOST, PLANT_EMPTY_CELL, PLANTS };
static const char *const plant_names[PLANTS] = {"", "the next class", "one in eight lost",
                                                "a cell without samples"};

/* How many of the three limits the cells break; what they are, unless something is planted. */
static unsigned judge(const char *name, double rate, enum plant plant)
{
    double chi = 0, freedom = 0, got = 0, expected = 0, variance = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < cell_count; i++) {
        const struct cell *cell = &cells[i];
        size_t usable = cell->usable, next = cells[i + 3 < cell_count ? i + 3 : i].usable;
        double p = odds(plant == PLANT_NEXT_CLASS ? next : usable, rate), n = cell->trials;
        double x = plant == PLANT_LOST                                ? cell->got * 7 / 8
                   : plant == PLANT_EMPTY_CELL && i == cell_count / 2 ? 0
                                                                      : cell->got;
        if (n == 0 || p > 1 - 1e-9)
            continue;
        double off = distance(x, n, p);
        chi += 2 * off;
        freedom++;
        got += x;
        expected += n * p;
        variance += n * p * (1 - p);
        wrong += off > cell_limit;
        if (off > cell_limit && plant == PLANT_NOTHING)
            printf("  %s, %zu bytes (block of %zu), rate %.0f: %.0f samples, expected %.1f\n", name,
                   cell->size, usable, rate, x, n * p);
    }
    double z = (got - expected) / sqrt(variance);
    wrong += (chi > chi_limit(freedom)) + (fabs(z) > sigmas);
    if (plant == PLANT_NOTHING)
        printf("%-18s rate %6.0f: %3.0f cells, %6.0f samples, expected %8.1f, %+.2f sigma, "
               "chi-square %.0f, limit %.0f%s\n",
               name, rate, freedom, got, expected, z, chi, chi_limit(freedom),
               wrong ? "  WRONG" : "");
    return wrong;
}

static void path_holds(const struct path *path, double rate, double expected)
{
    cell_count = size_count;
    for (unsigned i = 0; i < size_count; i++) {
        cells[i] = (struct cell){.size = sizes[i]};
        cell_run(path, &cells[i], i / 3, rate, expected);
    }
    failures += judge(path->name, rate, PLANT_NOTHING);
    for (enum plant plant = PLANT_NOTHING + 1; plant < PLANTS; plant++)
        if (judge(path->name, rate, plant) == 0) {
            printf("  %s: %s would not be seen\n", path->name, plant_names[plant]);
            failures++;
        }
}

/* Live bytes of a path as dumps have them, and as they are. */
struct estimate {
    double found, truth, variance;
};
static struct estimate estimates[PATHS];

static int path_at(uintptr_t pc)
{
    int best = -1;
    for (int i = 0; i < PATHS; i++) {
        uintptr_t start = (uintptr_t)paths[i].take;
        if (start < pc && pc < start + CODE_MAX &&
            (best < 0 || start > (uintptr_t)paths[best].take))
            best = i;
    }
    return best;
}

static void read_dump(const char *name)
{
    char line[4096];
    double rate = 0, objects, bytes;
    unsigned long pc;
    int path = -1;
    FILE *file = fopen(name, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL ||
        sscanf(line, "heap_v2/%lf", &rate) != 1) {
        printf("%s can't be read\n", name);
        exit(2);
    }
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "MAPPED", 6) != 0) {
        if (sscanf(line, "@ %lx", &pc) == 1) {
            path = path_at(pc);
        } else if (path >= 0 && sscanf(line, " t*: %lf: %lf", &objects, &bytes) == 2) {
            if (objects > 0)
                estimates[path].found += bytes / odds((size_t)(bytes / objects + 0.5), rate);
            path = -1;
        }
    }
    fclose(file);
}

/* Blocks of all paths of a range of sizes live at once; what a dump says of each path. */
static void range_run(unsigned range, double rate)
{
    enum { BLOCKS = PATHS * (RANGE_BYTES / 16 + SIZES_MAX) };
    static void *blocks[BLOCKS];
    static const size_t above[RANGES + 1] = {0, 256, 1024, 8192, 32768, SIZE_MAX};
    size_t count = 0;
    for (unsigned p = 0; p < PATHS; p++) {
        size_t bytes = 0;
        while (bytes < RANGE_BYTES)
            for (unsigned i = 0; i < size_count; i++) {
                if (sizes[i] <= above[range] || sizes[i] > above[range + 1] || count == BLOCKS)
                    continue;
                void *block = blocks[count++] = take(&paths[p], sizes[i], i / 3);
                size_t usable = malloc_usable_size(block);
                double odd = odds(usable, rate), s = (double)usable;
                bytes += usable;
                estimates[p].truth += s;
                estimates[p].variance += s * s * (1 - odd) / odd;
            }
    }
    if (memoir_dump("paths.heap") != 0)
        exit(2);
    read_dump("paths.heap");
    while (count > 0)
        free(blocks[--count]);
}

static void estimates_hold(double rate, unsigned rounds)
{
    for (unsigned range = 0; range < RANGES; range++) {
        memset(estimates, 0, sizeof estimates);
        for (unsigned i = 0; i < rounds; i++)
            range_run(range, rate);
        for (unsigned p = 0; p < PATHS; p++) {
            const struct estimate *e = &estimates[p];
            double z = (e->found - e->truth) / sqrt(e->variance);
            bool wrong = fabs(z) > sigmas;
            printf("%-18s range %u: %.0f KiB estimated, %.0f in truth, %+.2f sigma of %.1f %%%s\n",
                   paths[p].name, range, e->found / 1024, e->truth / 1024, z,
                   100 * sqrt(e->variance) / e->truth, wrong ? "  WRONG" : "");
            failures += wrong;
        }
    }
    unlink("paths.heap");
}

int main(int argc, char **argv)
{
    static const double rates[] = {64 << 10, 512 << 10};
    (void)argc;
    if (memoir_stats == NULL || memoir_set_rate == NULL || _Znwm == NULL)
        return 77;
    if (getenv("MEMOIR") == NULL) {
        setenv("MEMOIR", "dump.format:jemalloc", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    brief = getenv("MEMOIR_STRESS_SHORT") != NULL;
    memoir_set_rate(-1);
    find_sizes();
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        memoir_set_rate((int64_t)rates[i]);
        for (unsigned p = 0; p < PATHS; p++)
            path_holds(&paths[p], rates[i], brief ? 32 : 320);
    }
    memoir_set_rate((int64_t)rates[0]);
    estimates_hold(rates[0], brief ? 3 : 30);
    printf("%s\n", failures ? "FAILED" : "passed");
    return failures ? 1 : 0;
}
