/* SPDX-License-Identifier: MIT */
/* What triggers.c needs of dump.c: it decides on several dumps and makes them under one lock. */
#ifndef DUMP_DUMP_LOCK_H
#define DUMP_DUMP_LOCK_H

#include "lib/dump/dump.h"
#include "lib/heap/observer.h"

/* False if another thread makes a dump and `wait` is false, or inside the allocator. */
bool dump_lock(bool wait);
void dump_unlock(void);
/* Outside of `triggers_run`: also makes the dumps that were turned away meanwhile. */
void dump_unlock_and_look(void);
/* Why the lock could not be taken. */
int dump_lock_error(void);
/* A dump under the next name; `now` are the totals that the decision was based on. */
int dump_write_locked(const struct dump_style *style, enum dump_reason reason, const char *path,
                      const char *words, const struct totals_now *now);
/* The file of a forked child that has recorded something; what came or went by dlopen. */
void dump_recorder_look_locked(void);
/* Reports an error, unless it is 0, and returns it; of a capture, ENOENT: there is none. */
int dump_complain_of_recorder(int error);
int dump_complain_of_capture(int error);
/* The name of the last dump, complete or not. */
extern char dump_last_name[DUMP_NAME_SIZE];

#endif
