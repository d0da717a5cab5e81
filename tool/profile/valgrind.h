/* SPDX-License-Identifier: MIT */
/*
 * Frames as the tools of valgrind write them: "0x10937F: main (p.cc:16)", "0x48FC7B9: ??? (in
 * /usr/lib/libx.so)". Functions that were inlined in each other are frames with one address, the
 * innermost first: they become one location.
 */
#ifndef PROFILE_VALGRIND_H
#define PROFILE_VALGRIND_H

#include "tool/profile/cursor.h"
#include "tool/profile/keys.h"
#include "tool/profile/model.h"

struct valgrind_frame {
    uint64_t address; /* in the call; 0: only a name */
    uint32_t function, line, mapping;
};

/* What is known of a file's frames; all zero at first. */
struct valgrind {
    struct keys locations, paths;
    struct profile_list numbers, mappings; /* uint32_t: of the profile, by the keys' numbers */
    uint32_t *stack;
    size_t stack_room;
};

struct valgrind_frame valgrind_frame(struct valgrind *valgrind, struct profile *profile,
                                     struct cursor text);
/* A frame that is a remark. */
struct valgrind_frame valgrind_remark(struct profile *profile, const char *name);
/* Leaf first. */
uint32_t valgrind_stack(struct valgrind *valgrind, struct profile *profile,
                        const struct valgrind_frame *frames, size_t count);
void valgrind_free(struct valgrind *valgrind);

#endif
