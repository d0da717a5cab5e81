/* SPDX-License-Identifier: MIT */
/* See tool/compat/compat.h: how the old commands end. */
#include "tool/compat/compat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/terminal/terminal.h"

void compat_end(int status)
{
    if (fflush(stdout) != 0 && status == 0) {
        if (errno != EPIPE) /* the reader closed it: it has seen enough */
            fprintf(stderr, "can't write standard output: %s\n", strerror(errno));
        status = 1;
    }
    exit(status);
}

static jmp_buf *shell;

void compat_resume(jmp_buf *where)
{
    shell = where;
}

void compat_stop(void)
{
    if (shell)
        longjmp(*shell, 1);
    compat_end(1);
}

void compat_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    compat_stop();
}

void compat_out_of_memory(void)
{
    compat_fail("%s", error_out_of_memory);
}

void *compat_room(void *old, size_t count, size_t size)
{
    void *room = old;
    if (!list_resize(&room, count, size))
        compat_out_of_memory();
    return room;
}

void compat_reserve(void *items, size_t *room, size_t want, size_t item_size)
{
    if (!list_reserve(items, room, want, item_size))
        compat_out_of_memory();
}

uint32_t compat_find(struct map *map, const void *context, const struct map_kind *kind,
                     uint64_t hash, const void *key)
{
    uint32_t number;
    if (!map_find_as(map, context, kind, hash, key, &number))
        compat_out_of_memory();
    return number;
}
