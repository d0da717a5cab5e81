/* SPDX-License-Identifier: MIT */
/*
 * Objects that were unloaded. Stacks hold bare addresses: if another object was later loaded to the
 * same addresses, a return address there may mean either. Captures list these address ranges.
 */
#ifndef WATCH_UNLOADED_H
#define WATCH_UNLOADED_H

#include <stdint.h>

/* Objects that are remembered (later ones are dropped); bytes of a SHA-1 build id; of a path. */
enum { UNLOADED_MAX = 256, UNLOADED_ID = 20, UNLOADED_PATH = 160 };

struct unloaded {
    uintptr_t start, end, offset;       /* of its code; where that begins in the file */
    uint8_t id[UNLOADED_ID], id_length; /* build id; length 0: none, or longer than UNLOADED_ID */
    char path[UNLOADED_PATH]; /* of its file, as the loader has it; a long one without folders */
    uint32_t nodes; /* of stacks (stacks.h) when it was found to be gone: later ones have none of
                       its addresses */
};

/* Compares the loaded objects with those of the last call; `nodes`: how many nodes of stacks there
 * are. Asks the loader: never called under malloc. Called around dlclose and before dlopen, in any
 * thread; returns at once while another thread is in here, since its result is the same. */
void unloaded_look(uint32_t nodes);
/* The number of unloaded objects, those at one place in the order of their ends; `at` is an index
 * below it. May run in a signal handler. */
unsigned unloaded_count(void);
const struct unloaded *unloaded_at(unsigned at);

#endif
