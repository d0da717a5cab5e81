/* SPDX-License-Identifier: MIT */
/*
 * A set of keys of three words; each gets the next number from 0 when it is seen first. For readers
 * that must find again what they have read. Cost: about 32 bytes a key.
 */
#ifndef PROFILE_KEYS_H
#define PROFILE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/memory/memory.h"

#define KEYS_NONE MAP_NONE

struct key {
    uint64_t words[3];
};

struct keys {
    struct key *items; /* by number */
    size_t count, room;
    struct map map;
};

/* All of it zero is the empty set. */
void keys_free(struct keys *keys);
/* Its number, or KEYS_NONE when there is no such key. */
uint32_t keys_find(const struct keys *keys, struct key key);
/* Its number; *fresh says that it is new. KEYS_NONE when memory is out. */
uint32_t keys_add(struct keys *keys, struct key key, bool *fresh);

#endif
