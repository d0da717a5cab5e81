/* SPDX-License-Identifier: MIT */
/* helper of memory_comes_back_in_all_modes.sh: all memory is taken as blocks of one size and freed,
 * for several sizes, again and again. Each time there is nearly as much as the first time; and so
 * there is for each size, once every second block was freed, while the others are kept (the first
 * argument: how many percent): few blocks are samples then, or few are not, and both must be had of
 * what the other kind left. The block that was freed last can be had at once. The blocks are linked
 * through their first words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3, PERCENT_MIN = 70 };

static const size_t sizes[] = {200000, 5000, 600, 1 << 20, 30000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static const size_t halves[] = {20000, 30000, 9000, 20000, 30000, 9000};
enum { HALVES = sizeof halves / sizeof halves[0] };
static const size_t lasts[] = {24, 100, 520, 1008, 2000, 5000, 9000, 20008, 30000, 40000, 300000};
enum { LASTS = sizeof lasts / sizeof lasts[0] };

/* How many there are. */
static long take(size_t size, void ***last)
{
    long count = 0;
    for (void **block; (block = malloc(size)) != NULL; count++) {
        *block = *last;
        *last = block;
    }
    if (errno != ENOMEM)
        exit(3);
    return count;
}

/* Every one, or every second one. */
static long give(void ***last, int all)
{
    long count = 0;
    for (void ***link = last; *link != NULL; link = (void ***)*link) {
        do {
            void **block = *link;
            *link = *block;
            free(block);
            count++;
        } while (all && *link != NULL);
        if (*link == NULL)
            break;
    }
    return count;
}

static long take_all(size_t size)
{
    void **last = NULL;
    long count = take(size, &last);
    give(&last, 1);
    return count;
}

/* Large blocks that realloc makes longer and then shorter. */
static long take_resized(void)
{
    void **last = NULL;
    long count = 0;
    for (void **block; (block = malloc(8192)) != NULL; count++) {
        for (size_t size = 16384; size <= 65536 && block != NULL; size *= 2) {
            void **longer = realloc(block, size);
            if (longer == NULL)
                free(block);
            block = longer;
        }
        if (block == NULL || (block = realloc(block, 40000)) == NULL)
            break;
        *block = last;
        last = block;
    }
    give(&last, 1);
    return count;
}

static int take_resized_again(void)
{
    long first = take_resized(), count = 0;
    for (int round = 0; round < ROUNDS; round++)
        count = take_resized();
    if (count * 100 >= first * PERCENT_MIN)
        return 0;
    printf("resized: %ld blocks, then %ld\n", first, count);
    return 1;
}

static int take_half(size_t size, long percent_min)
{
    void **last = NULL;
    take(size, &last);
    long freed = give(&last, 0), again = take(size, &last);
    give(&last, 1);
    if (again * 100 >= freed * percent_min)
        return 0;
    printf("size %zu: %ld of many were freed, then there were %ld\n", size, freed, again);
    return 1;
}

/* What a new_handler does: it frees a block, and the call that found no memory is made again. */
static int take_the_last_again(size_t size)
{
    void **last = NULL;
    int failures = 0;
    take(size, &last);
    for (int i = 0; i < 10 && last != NULL; i++) {
        void **block = last;
        last = *block;
        free(block);
        if ((block = malloc(size)) == NULL) {
            failures++;
            continue;
        }
        *block = last;
        last = block;
    }
    give(&last, 1);
    if (failures > 0)
        printf("size %zu: %d of 10 blocks were freed and could not be had again\n", size, failures);
    return failures > 0;
}

int main(int argc, char **argv)
{
    long first[SIZES];
    int failures = 0;
    for (unsigned i = 0; i < LASTS; i++)
        failures += take_the_last_again(lasts[i]);
    for (unsigned i = 0; i < HALVES; i++)
        failures += take_half(halves[i], argc > 1 ? atol(argv[1]) : 0);
    failures += take_resized_again();
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < SIZES; i++) {
            long count = take_all(sizes[i]);
            if (round == 0)
                first[i] = count;
            if (count > 0 && count * 100 >= first[i] * PERCENT_MIN)
                continue;
            printf("size %zu: %ld blocks, then %ld in round %d\n", sizes[i], first[i], count,
                   round);
            failures++;
        }
    return failures > 0;
}
