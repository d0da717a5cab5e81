/* SPDX-License-Identifier: MIT */
/* What dump.c has for triggers.c: several dumps, and what decides on them, under one lock. */
#ifndef DUMP_DUMP_LOCK_H
#define DUMP_DUMP_LOCK_H

#include "lib/dump/dump.h"
#include "lib/heap/observer.h"

/* False where somebody is at it and `wait` is false, or inside the allocator. */
bool dump_lock(bool wait);
void dump_unlock(void);
/* A dump of the next name; the totals are those that decided on it. */
int dump_write_locked(const struct dump_style *style, enum dump_reason reason, const char *path,
                      const char *words, const struct totals_now *now);
/* The name of the last one, complete or not. */
extern char dump_last_name[DUMP_NAME_SIZE];

#endif
