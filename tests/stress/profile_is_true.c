/* SPDX-License-Identifier: MIT */
/*
 * The heap profile against what the program knows. Twelve places allocate blocks of their own
 * sizes, one of them by realloc, and free some of them, in mixes that differ. Recording every
 * block, the dump has the very numbers of each place. Sampling, the estimate of each place is
 * within three standard deviations of the truth in 99 of 100 cases, the deviations being those of
 * independent picks with p = 1 - exp(-size / rate).
 */
#include <assert.h>
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memoir/memoir.h"

#pragma weak memoir_dump
#pragma weak memoir_set_rate
#pragma weak memoir_stop

enum { PLACES = 12, BLOCKS = 6000, RATE = 8192 };

struct truth {
    double objects, bytes, variance; /* live */
};

static struct truth truths[PLACES], found[PLACES];
static void *blocks[BLOCKS];
static uint64_t seed = 88172645463325252;

static uint64_t random_next(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Each in its own function, so that the return address tells them apart. */
#define PLACE(n)                                                           \
    static __attribute__((noinline, noclone)) void *place_##n(size_t size) \
    {                                                                      \
        void *block = n == 3 ? realloc(malloc(1), size) : malloc(size);    \
        __asm__ volatile("" : "+r"(block) : "i"(n) : "memory");            \
        return block;                                                      \
    }
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)
PLACE(4)
PLACE(5)
PLACE(6)
PLACE(7)
PLACE(8)
PLACE(9)
PLACE(10)
PLACE(11)

static void *(*const places[PLACES])(size_t) = {place_0, place_1, place_2,  place_3,
                                                place_4, place_5, place_6,  place_7,
                                                place_8, place_9, place_10, place_11};

static int place_of(uintptr_t pc)
{
    int best = -1;
    for (int i = 0; i < PLACES; i++)
        if ((uintptr_t)places[i] < pc && pc < (uintptr_t)places[i] + 200 &&
            (best < 0 || (uintptr_t)places[i] > (uintptr_t)places[best]))
            best = i;
    return best;
}

static void add(int place, size_t bytes, double sign)
{
    double p = 1 - exp(-(double)bytes / RATE);
    truths[place].objects += sign;
    truths[place].bytes += sign * (double)bytes;
    truths[place].variance += sign * (double)bytes * (double)bytes * (1 - p) / p;
}

/* Live bytes of each place as the dump has them; `rate` scales what was picked, 0: as it is. */
static void read_dump(const char *path)
{
    char line[4096];
    double rate = 0;
    int place = -1;
    FILE *file = fopen(path, "r");
    assert(file != NULL && fgets(line, sizeof line, file) != NULL);
    assert(sscanf(line, "heap_v2/%lf", &rate) == 1);
    memset(found, 0, sizeof found);
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "MAPPED", 6) != 0) {
        double objects, bytes;
        unsigned long pc;
        if (sscanf(line, "@ %lx", &pc) == 1) {
            place = place_of(pc);
        } else if (place >= 0 && sscanf(line, " t*: %lf: %lf", &objects, &bytes) == 2) {
            double scale = rate <= 1 || objects == 0 ? 1 : 1 / (1 - exp(-bytes / objects / rate));
            found[place].objects += objects * scale;
            found[place].bytes += bytes * scale;
            place = -1;
        }
    }
    fclose(file);
}

/* Fills and frees, as the number says, and compares. Counts what is beyond three deviations. */
static unsigned mix(unsigned number, bool exact, const char *path)
{
    static size_t bytes_of[BLOCKS];
    static int place_at[BLOCKS];
    unsigned wrong = 0;
    memset(truths, 0, sizeof truths);
    for (unsigned i = 0; i < BLOCKS; i++) {
        int place = (int)(random_next() % PLACES);
        size_t size = 1 + random_next() % (64u << (place % 6)) + (number % 7) * 40;
        blocks[i] = places[place](size);
        bytes_of[i] = malloc_usable_size(blocks[i]);
        place_at[i] = place;
        add(place, bytes_of[i], 1);
        if (i > 10 && random_next() % 3 == 0) {
            unsigned other = (unsigned)(random_next() % i);
            if (blocks[other] != NULL) {
                free(blocks[other]);
                blocks[other] = NULL;
                add(place_at[other], bytes_of[other], -1);
            }
        }
    }
    assert(memoir_dump(path) == 0);
    read_dump(path);
    for (int i = 0; i < PLACES; i++) {
        double off = found[i].bytes - truths[i].bytes;
        if (exact) {
            if (off != 0 || found[i].objects != truths[i].objects)
                printf("place %d: %g objects, %g bytes; truth %g, %g\n", i, found[i].objects,
                       found[i].bytes, truths[i].objects, truths[i].bytes);
            wrong += off != 0 || found[i].objects != truths[i].objects;
        } else {
            wrong += fabs(off) > 3 * sqrt(truths[i].variance);
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return wrong;
}

int main(int argc, char **argv)
{
    (void)argc;
    if (getenv("MEMOIR") == NULL) {
        setenv("MEMOIR", "dump.format:jemalloc", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    char path[] = "truth.heap";
    unsigned mixes = 200, wrong = 0;
    if (memoir_dump == NULL)
        return 77;
    memoir_set_rate(0);
    for (unsigned i = 0; i < 5; i++)
        wrong += mix(i, true, path);
    assert(wrong == 0);
    memoir_set_rate(RATE);
    for (unsigned i = 0; i < mixes; i++)
        wrong += mix(i, false, path);
    printf("%u of %u estimates beyond three deviations\n", wrong, mixes * PLACES);
    memoir_stop();
    unlink(path);
    return wrong <= mixes * PLACES / 100 + 2 ? 0 : 1;
}
