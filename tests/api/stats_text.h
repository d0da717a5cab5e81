/* SPDX-License-Identifier: MIT */
/* What malloc_stats_print writes, as one text. */
#ifndef API_STATS_TEXT_H
#define API_STATS_TEXT_H

#include <string.h>

#include "memoir/compat/jemalloc/jemalloc.h"
#include "tests/api/check.h"

#pragma weak malloc_stats_print

static char stats_written[4 << 20];
static size_t stats_length;

static inline void stats_collect(void *opaque, const char *part)
{
    (void)opaque;
    size_t length = strlen(part);
    if (CHECK(stats_length + length < sizeof stats_written))
        memcpy(stats_written + stats_length, part, length + 1);
    stats_length += length;
}

/* Until the next call. `options`: letters of what to leave out. */
static inline const char *stats_text(const char *options)
{
    stats_length = 0;
    stats_written[0] = '\0';
    malloc_stats_print(stats_collect, NULL, options);
    return stats_written;
}

#endif
