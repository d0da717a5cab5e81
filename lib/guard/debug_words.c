/* SPDX-License-Identifier: MIT */
/* See lib/guard/debug_words.h. */
#include "lib/guard/debug_words.h"

#include <string.h>

#include "base/config.h"
#include "lib/guard/report.h"
#include "lib/watch/watch.h"

enum {
    PART = 1024,      /* freed memory is compared and reported in parts of this size */
    BYTES_SHOWN = 32, /* changed bytes of a part that have a line each */
    FRAMES_SHOWN = 16,
};

static void bytes_print(struct print *out, const uint8_t *part, size_t size);
static void deleter_print(struct print *out, const struct cell_event *died);

bool debug_headline(struct print *out, const struct guard_report *report)
{
    static const struct cell unknown;
    const struct cell *cell = report->cell == NULL ? &unknown : report->cell;
    const void *address = (const void *)report->address;
    const void *block = report->cell == NULL ? address : (const void *)cell->start;
    if (!config.debug)
        return false;
    switch (report->error) {
    case GUARD_DAMAGE:
        print_format(out, "memoir: memory stomping bug: a word %s object at %p has been corrupted",
                     report->address < cell->start ? "before" : "after", block);
        return true;
    case GUARD_DOUBLE_FREE:
    case GUARD_FREED:
        print_format(out,
                     "memoir: memory allocation bug: object at %p has been already "
                     "deallocated",
                     address);
        if (report->cell != NULL)
            print_format(out, " (it was allocated with %s)", report_family(cell->family, false));
        else
            print_text(out, "; or else a word before the object has been corrupted (memory "
                            "stomping bug)");
        return true;
    case GUARD_INTERIOR:
    case GUARD_NEVER:
        print_format(out, "memoir: memory allocation bug: object at %p has never been allocated",
                     address);
        if (report->error == GUARD_INTERIOR)
            print_format(out, ": it is %zu bytes into the block of %zu bytes at %p",
                         (size_t)(report->address - cell->start), cell->size, block);
        return true;
    case GUARD_MIXED:
        print_format(out,
                     "memoir: memory allocation/deallocation mismatch at %p: allocated with "
                     "%s being deallocated with %s",
                     block, report_family(cell->family, false),
                     report_family(report->family, true));
        return true;
    case GUARD_SIZE:
        print_format(out,
                     "memoir: right size must be passed to sized delete: object at %p has %zu "
                     "bytes, size %zu was passed",
                     block, cell->size, report->size);
        return true;
    case GUARD_WRITTEN:
        print_format(out,
                     "memoir: Memory was written to after being freed.  MallocBlock: %p, user "
                     "ptr: %p, size: %zu.",
                     (void *)report->place.start, block, cell->size);
        return true;
    default:
        return false;
    }
}

void debug_details(struct print *out, const struct guard_report *report)
{
    const char *start = report->place.start;
    size_t room = report->place.room;
    size_t index = (size_t)((const char *)report->address - start) / PART;
    const char *part = start + index * PART;
    size_t size = (size_t)(start + room - part) < PART ? (size_t)(start + room - part) : PART;
    print_format(out,
                 "memoir: Found a corrupted memory buffer in MallocBlock (may be offset from "
                 "user ptr): buffer index: %zu, buffer ptr: %p, size of buffer: %zu\n",
                 index, (const void *)part, size);
    bytes_print(out, (const uint8_t *)part, size);
    deleter_print(out, &report->cell->died);
}

static void bytes_print(struct print *out, const uint8_t *part, size_t size)
{
    unsigned shown = 0;
    for (size_t i = 0; i < size && shown < BYTES_SHOWN; i++) {
        if (part[i] == DEBUG_FREED)
            continue;
        print_format(out, "Buffer byte %zu is 0x%c%c (should be 0xcd).\n", i,
                     "0123456789abcdef"[part[i] >> 4], "0123456789abcdef"[part[i] & 15]);
        shown++;
    }
}

static void deleter_print(struct print *out, const struct cell_event *died)
{
    uintptr_t pcs[FRAMES_SHOWN];
    unsigned count = stacks_frames(died->stack, pcs, FRAMES_SHOWN);
    count = count < FRAMES_SHOWN ? count : FRAMES_SHOWN;
    bool named = config.debug_names && report_may_name();
    print_format(out, "Deleted by thread %u\n", died->thread);
    for (unsigned i = 0; i < count; i++) {
        struct code_name name = {0};
        if (named) {
            code_name_find(pcs[i], &name);
            code_name_demangle(&name);
        }
        print_format(out, "    @ %p ", (void *)pcs[i]);
        print_clean(out, name.function, strlen(name.function), sizeof name.function);
        print_char(out, '\n');
    }
}
