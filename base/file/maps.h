/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where in this process, line by line from the kernel, and the build ids of the
 * files among it. Where there is no /proc, what is loaded takes its place (base/loaded.h). No
 * allocation, no lock; may run in a signal handler. The list may change while it is read, as the
 * kernel says: each line was true at some moment.
 *
 *     struct maps maps;
 *     struct map map;
 *     if (maps_open(&maps)) {
 *         while (maps_next(&maps, &map))
 *             ...
 *         maps_close(&maps);
 *     }
 *
 * A struct maps is 9 KiB: a stack is room enough for it.
 */
#ifndef FILE_MAPS_H
#define FILE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/sink.h"
#include "base/loaded.h"

enum { MAPS_ID_MAX = 64 }; /* bytes of a build id */

struct map {
    uint64_t start, end, offset, device, inode;
    bool readable, writable, executable, shared;
    const char
        *path; /* as the kernel writes it, ended by 0; "" without a name; until the next call */
};

struct maps {
    int lines, memory; /* descriptors, -1: they can't be read that way */
    size_t from, to;   /* range that is read and not used yet */
    bool over, cut;    /* the end was reached; the rest of a long line follows */
    /* The last mapping that began with an ELF header, for the other mappings of its file. */
    uint64_t device, inode;
    uint8_t id[MAPS_ID_MAX];
    unsigned id_length;
    struct loaded loaded;  /* used if the lines can't be read */
    char text[4096 + 512]; /* a path and what is before it */
};

bool maps_open(struct maps *maps);
/* The next mapping; skips a line that makes no sense, and truncates one that is too long. */
bool maps_next(struct maps *maps, struct map *map);
void maps_close(struct maps *maps);

/* The same list with the kernel's flags of each mapping, which takes the kernel milliseconds for
 * each GiB; false if it does not tell them. `maps_is_apart` says whether children made by fork get
 * nothing of the mapping that was read last (MADV_DONTFORK, MADV_WIPEONFORK); the path of that
 * mapping is gone afterwards. */
bool maps_open_flags(struct maps *maps);
bool maps_is_apart(struct maps *maps);

/* The build id of the mapping's file, given all mappings in order; 0: none. Reads mapped memory
 * through the kernel, so that a library that is unloaded meanwhile does no harm; and the file if
 * the mapped header can't be read. */
unsigned maps_build_id(struct maps *maps, const struct map *map, uint8_t id[MAPS_ID_MAX]);

/* The build id among an object's notes in memory; its length, 0 if there is none. */
unsigned maps_note_id(const uint8_t *notes, size_t size, uint8_t id[MAPS_ID_MAX]);

/* The whole list, after `before`, in the form of /proc/self/maps. False if there is nothing; then
 * nothing is written. */
bool maps_copy(struct maps *scratch, struct sink *sink, const char *before);

#endif
