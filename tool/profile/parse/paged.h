/* SPDX-License-Identifier: MIT */
/*
 * Bytes in whole pages, so that readers of large files can give back what they are done with: a
 * file and the model made from it need not be in memory at the same time.
 */
#ifndef PROFILE_PARSE_PAGED_H
#define PROFILE_PARSE_PAGED_H

#include <stdbool.h>
#include <stddef.h>

/* Invariant: bytes[0..room] is writable; what was not written yet is 0. */
struct paged {
    char *bytes;
    size_t size, room;
};

/* At least that much room. False: memory is out. */
bool paged_grow(struct paged *pages, size_t room);
void paged_free(struct paged *pages);
/* The whole pages between these offsets are never looked at again. */
void paged_release(const char *bytes, size_t from, size_t to);
/* How many bytes the machine, or this container, has to spare, about. */
size_t paged_spare(void);

#endif
