/* SPDX-License-Identifier: MIT */
/*
 * Sections of malloc_stats_print (jemalloc_stats.c): locks and arenas, as JSON
 * (jemalloc_stats_json.c) and as tables (jemalloc_stats_table.c).
 */
#ifndef JEMALLOC_JEMALLOC_STATS_SECTIONS_H
#define JEMALLOC_JEMALLOC_STATS_SECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/faces/jemalloc/jemalloc_report.h"

struct figures;

/* Counters of a lock, by their names in mallctl, in the order of MUTEX_OPS and so on. */
enum { MUTEX_COUNTERS = 7 };
extern const char *const mutex_counters[MUTEX_COUNTERS];

/* What mallctl answers to a name in two parts; 0 if there is none. */
uint64_t stats_ask(const char *start, const char *name);
/* The next of several words with '|' between them; false: there is none. */
bool stats_word(const char **words, struct print *word);

/* `start`: of the names in mallctl; `words`: names of locks, with '|' between them. */
void json_mutexes(struct report *report, const char *start, const char *words);
void table_mutexes(struct report *report, const char *start, const char *words, uint64_t uptime_ns);
/* One arena, MALLCTL_ALL or MALLCTL_DESTROYED. `options`: letters of sections to leave out. */
void json_arena(struct report *report, size_t arena, const struct figures *figures,
                const char *options);
void table_arena(struct report *report, size_t arena, const struct figures *figures,
                 const char *options);

#endif
