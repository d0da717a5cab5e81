/* SPDX-License-Identifier: MIT */
/*
 * What heaptrack records while the program runs (`heaptrack --raw`), before its interpreter has
 * looked for names: modules and where they are, stacks of addresses, and blocks by their address.
 *
 *      x 11 /usr/bin/program
 *      m 1 x 563422815000 0 650 1000 275
 *      t 563422816080 0
 *      + 2710 1 563456b041d0
 *      - 563456b041d0
 *
 * A list of modules begins with "m 1 -" and is written anew whenever one is loaded.
 */
#include "tool/profile/read/read_heaptrack.h"

#include <stdlib.h>
#include <string.h>

void heaptrack_raw_program(struct heaptrack *track, struct cursor line)
{
    struct cursor path;
    track->raw.is = true;
    if (!heaptrack_text(track, &line, &path))
        return;
    track->raw.program = profile_string(track->profile, path.at, cursor_left(&path));
    track->profile->program = track->raw.program;
}

/* Its segments are pairs of a distance from where it was loaded, and a size. They are all moved by
 * the same distance, so that one mapping stands for them. */
void heaptrack_raw_module(struct heaptrack *track, struct cursor line)
{
    struct cursor path;
    uint64_t base, offset, size, start = UINT64_MAX, limit = 0;
    track->raw.is = true;
    if (!heaptrack_text(track, &line, &path) || cursor_is(&path, "-") ||
        !cursor_number(&line, 16, &base))
        return;
    while (cursor_number(&line, 16, &offset) && cursor_number(&line, 16, &size)) {
        uint64_t end;
        if (__builtin_add_overflow(base, offset, &offset) ||
            __builtin_add_overflow(offset, size, &end))
            return;
        start = offset < start ? offset : start;
        limit = end > limit ? end : limit;
    }
    struct profile_mapping mapping = {.start = start, .limit = limit};
    mapping.path = cursor_is(&path, "x")
                       ? track->raw.program
                       : profile_string(track->profile, path.at, cursor_left(&path));
    bool fresh;
    if (start < limit &&
        keys_add(&track->raw.modules, (struct key){{mapping.path, start, limit}}, &fresh) !=
            KEYS_NONE &&
        fresh)
        profile_mapping(track->profile, &mapping);
}

/* The address is that of the call. */
void heaptrack_raw_trace(struct heaptrack *track, struct cursor line)
{
    uint64_t address = 0, caller = 0;
    cursor_number(&line, 16, &address);
    cursor_number(&line, 16, &caller);
    uint32_t location = profile_address(track->profile, address, LOCATION_EXACT);
    struct heaptrack_trace *kept = profile_list_add(track->profile, &track->traces, sizeof *kept);
    if (!kept)
        return;
    kept->location = location;
    kept->caller = caller < track->traces.count ? (uint32_t)caller : 0; /* an earlier one */
}

/* The info of `size` bytes from a stack; a new one if there is none. */
static uint32_t info_of(struct heaptrack *track, uint64_t size, uint64_t trace)
{
    bool fresh;
    uint32_t number = keys_add(&track->raw.infos, (struct key){{size, trace, 0}}, &fresh);
    if (number == KEYS_NONE || number >= HEAPTRACK_NONE / 2) {
        track->profile->failed = true;
        return HEAPTRACK_NONE;
    }
    if (fresh) {
        struct heaptrack_info *info = profile_list_add(track->profile, &track->infos, sizeof *info);
        if (!info)
            return HEAPTRACK_NONE;
        info->size = size < UINT64_C(1) << 48 ? size : UINT64_C(1) << 48;
        info->trace = trace <= track->traces.count ? (uint32_t)trace : 0;
    }
    return number;
}

void heaptrack_raw_event(struct heaptrack *track, uint32_t event)
{
    uint32_t *kept = profile_list_add(track->profile, &track->raw.events, sizeof *kept);
    if (kept)
        *kept = event;
}

uint32_t heaptrack_raw_alloc(struct heaptrack *track, struct cursor line)
{
    uint64_t size, trace, pointer;
    bool fresh;
    if (!cursor_number(&line, 16, &size) || !cursor_number(&line, 16, &trace) ||
        !cursor_number(&line, 16, &pointer))
        return HEAPTRACK_NONE;
    uint32_t info = info_of(track, size, trace);
    uint32_t number = keys_add(&track->raw.pointers, (struct key){{pointer, 0, 0}}, &fresh);
    if (info == HEAPTRACK_NONE || number == KEYS_NONE) {
        track->profile->failed = true;
        return HEAPTRACK_NONE;
    }
    if (fresh && !profile_list_add(track->profile, &track->raw.owners, sizeof(uint32_t)))
        return HEAPTRACK_NONE;
    ((uint32_t *)track->raw.owners.items)[number] = info + 1;
    heaptrack_raw_event(track, info * 2);
    return info;
}

uint32_t heaptrack_raw_free(struct heaptrack *track, struct cursor line)
{
    uint64_t pointer;
    uint32_t number = cursor_number(&line, 16, &pointer)
                          ? keys_find(&track->raw.pointers, (struct key){{pointer, 0, 0}})
                          : KEYS_NONE;
    if (number == KEYS_NONE)
        return HEAPTRACK_NONE;
    uint32_t *owner = (uint32_t *)track->raw.owners.items + number, info = *owner - 1;
    if (*owner == 0)
        return HEAPTRACK_NONE;
    *owner = 0;
    heaptrack_raw_event(track, info * 2 + 1);
    return info;
}

void heaptrack_raw_end(struct heaptrack *track)
{
    keys_free(&track->raw.modules);
    keys_free(&track->raw.infos);
    keys_free(&track->raw.pointers);
    free(track->raw.owners.items);
    free(track->raw.events.items);
}
