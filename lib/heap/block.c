/* SPDX-License-Identifier: MIT */
/* See lib/heap/block.h. */
#include "lib/heap/block.h"

#include "base/config.h"
#include "base/file/sink.h"
#include "lib/heap/block_log.h"
#include "lib/heap/recent.h"
#include "lib/heap/recorder.h"
#include "lib/watch/watch.h"

uint32_t block_events;

bool block_events_switch(uint32_t event, bool on)
{
    uint32_t before = on ? __atomic_fetch_or(&block_events, event, __ATOMIC_ACQ_REL)
                         : __atomic_fetch_and(&block_events, ~event, __ATOMIC_ACQ_REL);
    return ((before & event) != 0) != on;
}

static uint32_t stack_of(const struct caller *caller)
{
    struct recorder *recorder = caller == NULL ? NULL : recorder_take();
    if (recorder == NULL)
        return STACK_NONE;
    unwind(&recorder->walk, caller, config.heap_depth);
    uint32_t stack = stacks_add(&recorder->walk);
    recorder_give(recorder);
    return stack;
}

void block_end(const struct record *record, const struct caller *caller,
               const struct block_end *end)
{
    uint32_t events = load_acquire(&block_events), stack = stack_of(caller);
    if (events & BLOCK_LOG)
        block_log_add(end, stack);
    if (events & BLOCK_RECENT)
        recent_end(record, stack);
}

void block_write_stack(struct sink *sink, uint32_t stack)
{
    uintptr_t pcs[WALK_MAX];
    unsigned depth = stack == STACK_NONE ? 0 : stacks_frames(stack, pcs, WALK_MAX);
    sink_text(sink, "[");
    for (unsigned frame = 0; frame < depth; frame++)
        sink_format(sink, "%s\"0x%lx\"", frame == 0 ? "" : ",", (unsigned long)pcs[frame]);
    sink_text(sink, "]");
}

void block_write_text(struct sink *sink, const char *text)
{
    sink_text(sink, "\"");
    for (const char *c = text; *c != '\0'; c++)
        sink_format(sink, "%s%c", *c == '"' || *c == '\\' ? "\\" : "",
                    (unsigned char)*c < ' ' ? '?' : *c);
    sink_text(sink, "\"");
}
