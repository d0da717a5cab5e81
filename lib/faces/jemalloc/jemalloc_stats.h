/* SPDX-License-Identifier: MIT */
/* jemalloc's malloc_stats_print. */
#ifndef JEMALLOC_JEMALLOC_STATS_H
#define JEMALLOC_JEMALLOC_STATS_H

/* To `write`, or to malloc_message or standard error if that is NULL. Each letter of `options`
 * leaves a section out, except J, which asks for JSON; NULL: none. */
void jemalloc_stats(void (*write)(void *opaque, const char *text), void *opaque,
                    const char *options);

#endif
