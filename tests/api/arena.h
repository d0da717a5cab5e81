/* SPDX-License-Identifier: MIT */
/* What tests of jemalloc's arenas share. */
#ifndef API_ARENA_H
#define API_ARENA_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memoir/compat/jemalloc/jemalloc.h"
#include "memoir/memoir.h"

#pragma weak mallctl
#pragma weak memoir_stats

/* Writes to arena.ARENA.WHAT. */
static inline int arena_act(unsigned arena, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "arena.%u.%s", arena, what);
    return mallctl(name, NULL, NULL, NULL, 0);
}

/* Under an emulator the program can't start itself again. */
static inline bool is_emulated(void)
{
    const char *command = getenv("MEMOIR_EMULATOR");
    return command != NULL && *command != '\0';
}

static inline uint64_t live_bytes(void)
{
    struct memoir_stats now;
    memset(&now, 0, sizeof now);
    memoir_stats(&now, sizeof now);
    return now.live_bytes;
}

#endif
