/* SPDX-License-Identifier: MIT */
/*
 * Stacks of frames that come as text with names in it, such as those of valgrind's tools:
 * "0x10937F: main (p.cc:16)", "0x48FC7B9: ??? (in /usr/lib/libx.so)". Functions that were inlined
 * in each other are frames with one address, the innermost first: they become one location.
 */
#ifndef PROFILE_PARSE_FRAMES_H
#define PROFILE_PARSE_FRAMES_H

#include "tool/memory/memory.h"
#include "tool/profile/parse/cursor.h"
#include "tool/profile/profile.h"

struct frame {
    uint64_t address; /* 0: only a name */
    uint32_t function, line, mapping;
    uint8_t flags; /* LOCATION_... */
};

/* What was made of a file's frames so far; all zero at first. */
struct frames {
    struct keys locations, paths;
    struct list numbers, mappings; /* uint32_t: of the profile, by the keys' numbers */
    uint32_t *stack;
    size_t stack_room;
};

struct frame frames_valgrind(struct frames *known, struct profile *profile, struct cursor text);
/* A frame that is a remark. */
struct frame frames_remark(struct profile *profile, const char *name);
/* The mapping of a path, without a place. */
uint32_t frames_mapping(struct frames *known, struct profile *profile, struct cursor path);
/* Leaf first. */
uint32_t frames_stack(struct frames *known, struct profile *profile, const struct frame *frames,
                      size_t count);
void frames_free(struct frames *known);

#endif
