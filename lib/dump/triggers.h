/* SPDX-License-Identifier: MIT */
/* The decisions of triggers.c, without clocks and files: for dump.c and for tests. */
#ifndef DUMP_TRIGGERS_H
#define DUMP_TRIGGERS_H

#include "lib/dump/dump_lock.h"

struct trigger {
    const struct dump_style *style; /* NULL: a free entry */
    enum dump_reason kind;
    bool share;       /* ABOVE by trigger_percent */
    bool waiting;     /* ABOVE: crossed; until the heap is small again */
    uint64_t step;    /* as in trigger_set */
    uint64_t wait_ms; /* TIME, of a capture: its last interval */
    uint64_t next;    /* the total, or the time, at which it is due; 0: never */
};

/* Starts a trigger at these totals. */
void trigger_wait(struct trigger *trigger, const struct totals_now *now, uint64_t now_ms);
/* True if the trigger is due; sets when it is due next. */
bool trigger_due(struct trigger *trigger, const struct totals_now *now, uint64_t now_ms);
/* A trigger made a dump of this style. gperftools counts all from there: what was allocated and
 * freed since the last dump, and how far the heap has grown beyond the largest that was dumped. */
void trigger_dumped(struct trigger *trigger, const struct dump_style *style,
                    const struct totals_now *now);
/* The dump that was due took this time. The next one by time comes at least as much later: if a
 * dump takes longer than its interval, the program would do nothing else. */
void trigger_took(struct trigger *trigger, uint64_t from_ms, uint64_t until_ms);
/* Lowers the limits to the value at which this trigger must be checked again. */
void trigger_limit(const struct trigger *trigger, const struct totals_now *now,
                   struct totals_limits *limits);

#endif
