/* SPDX-License-Identifier: MIT */
/*
 * Which loaded object a code address belongs to, and where its unwind tables are. Where the C
 * library has `_dl_find_object` (glibc 2.35) it answers, without a lock; elsewhere a table of our
 * own does, made by `objects_refresh` at moments when the loader may be asked.
 */
#ifndef BASE_OBJECT_H
#define BASE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct object {
    uintptr_t start, end; /* its memory */
    const void *header;   /* .eh_frame_hdr, or one like it; NULL: it has no tables */
};

/* False if no object is known there. May run in a signal handler. */
bool object_find(uintptr_t pc, struct object *object);
/* Objects were loaded or unloaded. Takes the loader's lock: never called under malloc. */
void objects_refresh(void);

#endif
