/* SPDX-License-Identifier: MIT */
/* The deciding part of triggers.c, without clocks and files: for dump.c's sake and for tests. */
#ifndef DUMP_TRIGGERS_H
#define DUMP_TRIGGERS_H

#include "lib/dump/dump_lock.h"

struct trigger {
    const struct dump_style *style; /* NULL: a free place */
    enum dump_reason kind;
    bool share;       /* ABOVE by trigger_percent */
    bool waiting;     /* ABOVE: crossed, until the heap is small again */
    uint64_t step;    /* as in trigger_set */
    uint64_t wait_ms; /* TIME, of a capture: what it waited for last */
    uint64_t next;    /* the total, or the time, that it waits for; 0: none */
};

/* Sets a trigger up to wait, from these totals on. */
void trigger_wait(struct trigger *trigger, const struct totals_now *now, uint64_t now_ms);
/* True if it is due; then it waits for the next time. */
bool trigger_due(struct trigger *trigger, const struct totals_now *now, uint64_t now_ms);
/* The dump that was due took this time. The next one by time leaves the program at least as much:
 * where a dump takes longer than the interval, the program would do nothing else. */
void trigger_took(struct trigger *trigger, uint64_t from_ms, uint64_t until_ms);
/* Lowers the limits to where this one must be looked at again. */
void trigger_limit(const struct trigger *trigger, const struct totals_now *now,
                   struct totals_limits *limits);

#endif
