/* SPDX-License-Identifier: MIT */
/*
 * Objects that were unloaded. Stacks hold bare addresses: where other code is loaded to a place
 * that was in use before, an address there may mean either. Captures say which places that are.
 */
#ifndef WATCH_UNLOADED_H
#define WATCH_UNLOADED_H

#include <stdint.h>

enum { UNLOADED_MOST = 256, UNLOADED_ID = 20, UNLOADED_NAME = 64 };

struct unloaded {
    uintptr_t start, end;
    uint8_t id[UNLOADED_ID], id_length; /* build id; 0: none, or a longer one */
    char name[UNLOADED_NAME];           /* of its file, cut */
};

/* Compares what is loaded with what was at the last call. Asks the loader: never under malloc.
 * Called around dlclose and before dlopen, by whichever thread; one that comes while another is at
 * it leaves, since the next call finds the same. */
void unloaded_look(void);
/* How many there are; `at` is one of them. May run in a signal handler. */
unsigned unloaded_count(void);
const struct unloaded *unloaded_at(unsigned at);

#endif
