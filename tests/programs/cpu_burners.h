/* SPDX-License-Identifier: MIT */
/*
 * Ten functions that burn CPU time and tell how much, for programs that a profile is compared with.
 * `part_told` is the program's: what part `number` (0 to 9) has spent.
 */
#ifndef PROGRAMS_CPU_BURNERS_H
#define PROGRAMS_CPU_BURNERS_H

#include <stdint.h>

#include "tests/programs/cpu_time.h"

enum { PARTS = 10 };

static void part_told(int number, uint64_t ns);

#define PART(number)                                          \
    __attribute__((noinline)) void part_##number(uint64_t ns) \
    {                                                         \
        part_told(number - 1, CPU_BURN(ns, number));          \
    }
PART(1)
PART(2)
PART(3)
PART(4)
PART(5)
PART(6)
PART(7)
PART(8)
PART(9)
PART(10)
static void (*const parts[PARTS])(uint64_t) = {part_1, part_2, part_3, part_4, part_5,
                                               part_6, part_7, part_8, part_9, part_10};

#endif
