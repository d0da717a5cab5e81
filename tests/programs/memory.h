/* SPDX-License-Identifier: MIT */
/* How much memory this process has resident, without allocating. The kernel keeps a count on each
 * processor, so the quick answer is off by some 100 KiB; the exact one is had by walking the
 * pages. */
#ifndef TESTS_PROGRAMS_MEMORY_H
#define TESTS_PROGRAMS_MEMORY_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t MIB = (size_t)1 << 20;

static inline void memory_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (length <= 0) {
        abort();
    }
    close(file);
    text[length] = '\0';
}

__attribute__((unused)) static size_t resident_bytes(void)
{
    char text[200];
    memory_read("/proc/self/statm", text, sizeof text);
    char *second = text;
    strtoul(text, &second, 10);
    return strtoul(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

__attribute__((unused)) static size_t resident_bytes_exactly(void)
{
    char text[2000];
    memory_read("/proc/self/smaps_rollup", text, sizeof text);
    const char *line = strstr(text, "\nRss:");
    if (line == NULL) {
        abort();
    }
    return strtoul(line + 5, NULL, 10) * 1024;
}

#endif
