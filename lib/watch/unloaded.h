/* SPDX-License-Identifier: MIT */
/*
 * Objects that were unloaded. Stacks hold bare addresses: where another object was loaded to the
 * same place later, an address there may mean either. Captures list these places.
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

/* Compares what is loaded with what was loaded at the last call. Asks the loader: never under
 * malloc. Called around dlclose and before dlopen, in any thread; returns at once while another
 * thread is doing the same, since the next call finds the same. */
void unloaded_look(void);
/* How many there are; `at` is one of them. May run in a signal handler. */
unsigned unloaded_count(void);
const struct unloaded *unloaded_at(unsigned at);

#endif
