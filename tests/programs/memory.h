/* SPDX-License-Identifier: MIT */
/* How much memory this process has resident, without allocating. */
#ifndef TESTS_PROGRAMS_MEMORY_H
#define TESTS_PROGRAMS_MEMORY_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const size_t MIB = (size_t)1 << 20;

__attribute__((unused)) static size_t resident_bytes(void)
{
    char text[200];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (length <= 0) {
        abort();
    }
    close(file);
    text[length] = '\0';
    char *second = text;
    strtoul(text, &second, 10);
    return strtoul(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
