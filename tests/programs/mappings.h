/* SPDX-License-Identifier: MIT */
/* What the kernel was told about huge pages, from /proc/self/smaps, without allocating. */
#ifndef TESTS_PROGRAMS_MAPPINGS_H
#define TESTS_PROGRAMS_MAPPINGS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of [start, end) whose mappings carry `flag`, two letters of the line VmFlags: hg for huge
 * pages wanted, nh for forbidden. SIZE_MAX: the kernel does not show them. */
static inline size_t mappings_with(uintptr_t start, uintptr_t end, const char *flag)
{
    static char text[4 << 20];
    size_t length = 0, bytes = 0;
    bool seen = false;
    int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    for (ssize_t got; file >= 0 && length < sizeof text - 1 &&
                      (got = read(file, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    if (file >= 0)
        close(file);
    text[length] = '\0';
    uintptr_t low = 0, high = 0;
    char wanted[5] = {' ', flag[0], flag[1], ' ', '\0'};
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n' ? (*next = '\0', 1) : 0;
        char *dash;
        uintptr_t from = strtoull(line, &dash, 16);
        if (*dash == '-' && dash > line) {
            low = from;
            high = strtoull(dash + 1, NULL, 16);
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            seen = true;
            uintptr_t first = low > start ? low : start, last = high < end ? high : end;
            if (first < last && strstr(line, wanted) != NULL)
                bytes += last - first;
        }
    }
    return seen ? bytes : SIZE_MAX;
}

#endif
