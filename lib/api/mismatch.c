/* SPDX-License-Identifier: MIT */
/*
 * See lib/api/mismatch.h. Sizes are compared with what the block's mark or record tells, functions
 * with the block's family. A pair of functions that does not fit is right all the same where a
 * library's own operator called malloc or free.
 */
#include "lib/api/mismatch.h"

#include <string.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/guard/guard.h"
#include "lib/process/process.h"
#include "lib/watch/watch.h"

/* What is known of the size that a block was asked for. */
struct asked {
    size_t min, max;
};

static uint64_t count;

static struct asked asked_for(const void *p, unsigned mark);
static void compare(const void *p, size_t size, size_t align, struct asked asked, bool exact,
                    const struct caller *caller);
static void tell(const void *p, const char *what, size_t told, struct asked asked,
                 const struct caller *caller);

void mismatch_look(const void *p, size_t size, size_t align, const struct caller *caller)
{
    bool ours = window_has(p) && (uintptr_t)p % GRANULE == 0;
    unsigned mark = ours ? mark_of(p) : MARK_FREE;
    if (mark == MARK_FREE)
        return;
    size_t size_asked;
    if (harden_on && tail_asked(p, "delete", &size_asked)) {
        mismatch_compare(p, size, align, size_asked, caller);
        return;
    }
    struct asked asked = asked_for(p, mark);
    /* realloc leaves a block in its place down to half of its size; operators have none. */
    if (caller->family == FAMILY_MALLOC && asked.min != asked.max && asked.min > asked.max / 2 + 1)
        asked.min = asked.max / 2 + 1;
    compare(p, size, align, asked, span_of(p)->state == SPAN_LARGE, caller);
}

void mismatch_compare(const void *p, size_t size, size_t align, size_t asked,
                      const struct caller *caller)
{
    asked = asked == 0 ? 1 : asked;
    compare(p, size, align, (struct asked){asked, asked}, true, caller);
}

static void compare(const void *p, size_t size, size_t align, struct asked asked, bool exact,
                    const struct caller *caller)
{
    exact = exact || asked.min == asked.max;
    size = size == 0 ? 1 : size;
    /* A block with a class is as long as its alignment made it. */
    size_t room = align <= GRANULE || exact ? size : sizes_room(size, align);
    if (align != 0 && (uintptr_t)p % align != 0)
        tell(p, "alignment", align, asked, caller);
    else if (size != SIZE_UNKNOWN && (room < asked.min || room > asked.max))
        tell(p, "size", size, asked, caller);
}

/* An operator that a library does not export is known by the file's own table of symbols, if there
 * is room to look there. */
static bool is_operator(uintptr_t pc, bool frees)
{
    struct code_name name;
    if (operators_of_library(pc, frees))
        return true;
    if (!report_may_name())
        return false;
    code_name_find(pc, &name);
    return strncmp(name.function, frees ? "_Zdl" : "_Znw", 4) == 0 ||
           strncmp(name.function, frees ? "_Zda" : "_Zna", 4) == 0;
}

/* Whether a return address is in an operator, or behind a call of one: an operator that ends in a
 * jump to malloc or free has no return address of its own on the stack. To find out can take
 * milliseconds, and programs have few such places: those that were found are remembered. */
static bool is_in_operator(uintptr_t pc, bool frees)
{
    static uintptr_t known[64]; /* return addresses, times two, plus `frees` */
    uintptr_t key = pc << 1 | frees, *slot = &known[pc % COUNT_OF(known)];
    if (load_relaxed(slot) == key)
        return true;
    uintptr_t called = code_called(pc);
    if (!is_operator(pc, frees) && (called == 0 || !is_operator(called + 1, frees)))
        return false;
    store_relaxed(slot, key);
    return true;
}

bool mismatch_fits(uint8_t family, uint32_t stack, const struct caller *caller)
{
    uintptr_t pc = caller->pc;
    bool frees = caller->family == FAMILY_MALLOC;
    if (families_fit(family, caller->family))
        return true;
    if ((family != FAMILY_MALLOC && !frees) || operators_of_library == NULL)
        return false;
    return (frees || stacks_node(stack, &stack, &pc)) && is_in_operator(pc, frees);
}

uint64_t mismatch_count(void)
{
    return load_relaxed(&count);
}

static struct asked asked_of_class(unsigned class)
{
    return (struct asked){sizes_min(class), class_size(class)};
}

static struct asked asked_for(const void *p, unsigned mark)
{
    if (mark != MARK_LARGE && mark != MARK_WATCHED)
        return asked_of_class(mark_class(mark));
    struct span *span = span_of(p);
    if (span->state == SPAN_LARGE && span->kinds & KIND_RECORDED) {
        size_t requested = ((struct large_record *)meta_at(span->record))->requested;
        return (struct asked){requested, requested};
    }
    if (span->state == SPAN_LARGE)
        return (struct asked){large_size(span) - UNIT + 1, large_size(span)};
    const struct record *record = central_record(span, p);
    size_t usable = class_size(mark_class(span->mark));
    if (record == NULL)
        return asked_of_class(mark_class(span->mark));
    size_t size = usable - record->slack;
    size = size == 0 ? 1 : size;
    return record->site == 0 ? (struct asked){0, usable} : (struct asked){size, size};
}

static void tell(const void *p, const char *what, size_t told, struct asked asked,
                 const struct caller *caller)
{
    char buffer[320];
    struct print line;
    if (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) != 0 && !harden_on)
        return;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "memoir: delete of %p with %s %zu, which is not its own: the block has ", p,
                 what, told);
    if (asked.min == asked.max)
        print_format(&line, "%zu bytes", asked.max);
    else
        print_format(&line, "%zu to %zu bytes", asked.min, asked.max);
    print_format(&line,
                 " (called from %p); delete it by its own type, or give the base a virtual "
                 "destructor.%s\n",
                 (void *)caller->pc, harden_on ? "" : " Told once; the statistics count all");
    message_flush(&line);
    if (harden_on)
        os_abort();
}
