/* SPDX-License-Identifier: MIT */
/*
 * How dumps are called. Each family counts in its own way, so that scripts written for it find
 * what they expect; the process is in every name that another process could make, too.
 *
 *   memoir      PREFIX-20261115-145918-PID-0007-peak-412M.memoir, the time is UTC
 *   jemalloc    PREFIX.PID.SEQ.iN.heap: SEQ counts all, N those of a letter, both from 0
 *   gperftools  PREFIX.0001.heap; PREFIX_PID.0001.heap where the prefix is another process's
 */
#ifndef DUMP_DUMP_NAME_H
#define DUMP_DUMP_NAME_H

#include "lib/dump/style.h"

/* What a name may contain about the moment. */
struct dump_moment {
    int64_t wall_s;
    uint64_t live_bytes;
    int pid;
};

/* Writes the next name of the style to `name`, of DUMP_NAME_SIZE bytes. False if it is too long. */
bool dump_name_next(char *name, const struct dump_style *style, enum dump_reason reason,
                    const struct dump_moment *moment);
/* The first part of it: what the option says, or the program's name. */
struct print;
void dump_name_prefix(struct print *text, const struct dump_style *style);
/* The number of the pid namespace of the process. */
uint64_t dump_name_space(void);
/* The name from the root on, for the program may go to another folder. False: too long. */
bool dump_name_whole(char *to, size_t size, const char *path);
/* The reason as one word, and in gperftools' words. */
const char *dump_name_word(enum dump_reason reason);
struct totals_now;
void dump_name_reason(struct print *text, enum dump_reason reason, const struct totals_now *now);

#endif
