/* SPDX-License-Identifier: MIT */
/* Paths of mapped files as the kernel writes them: of a file that is gone they end in " (deleted)".
 */
#ifndef FILE_DELETED_H
#define FILE_DELETED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* How many bytes of the path are the file's name. */
static inline size_t deleted_cut(const char *path, size_t length)
{
    static const char deleted[] = " (deleted)";
    size_t tail = sizeof deleted - 1;
    bool gone = length > tail && memcmp(path + length - tail, deleted, tail) == 0;
    return gone ? length - tail : length;
}

#endif
