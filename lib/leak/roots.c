/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/roots.h. Runs in a copy of the process, or while its threads stand still, so the
 * list of mappings does not change meanwhile. Memory is read through the kernel: a private mapping
 * of a file that was cut short would end the program by SIGBUS, and a device may do anything.
 */
#include "lib/leak/roots.h"

#include <fcntl.h>
#include <string.h>

#include "base/maps.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"

enum {
    RED_ZONE = 128,    /* bytes below the stack pointer that functions may use */
    PAGES = 512,       /* asked about at once */
    BUFFER = 64 << 10, /* read at once */
};

/* Of /proc/self/pagemap, a word a page. */
static const uint64_t PAGE_PRESENT = UINT64_C(1) << 63, PAGE_SWAPPED = UINT64_C(1) << 62;

struct reader {
    struct scan *scan;
    int memory, pagemap; /* descriptors; -1: all pages count as present */
    uintptr_t *buffer;
};

static bool is_root(const struct roots *roots, const struct map *map);
static void scan_mapping(const struct roots *roots, struct reader *reader, const struct map *map);
static void scan_range(struct reader *reader, uintptr_t start, uintptr_t end);

bool roots_scan(const struct roots *roots, struct scan *scan)
{
    struct maps maps;
    struct map map;
    struct reader reader = {.scan = scan};
    reader.buffer = os_map(BUFFER);
    if (reader.buffer == NULL || !maps_open(&maps))
        return false;
    reader.memory = os_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    reader.pagemap = os_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
    for (unsigned i = 0; i < roots->threads_count; i++) {
        const uintptr_t *registers = roots->threads[i].registers;
        scan_root(scan, (uintptr_t)registers, (uintptr_t)(registers + ROOTS_REGISTERS));
    }
    bool any = false;
    while (maps_next(&maps, &map)) {
        any = true;
        if (is_root(roots, &map))
            scan_mapping(roots, &reader, &map);
    }
    maps_close(&maps);
    if (reader.memory >= 0)
        os_close(reader.memory);
    if (reader.pagemap >= 0)
        os_close(reader.pagemap);
    os_unmap(reader.buffer, BUFFER);
    return any;
}

unsigned roots_constants(struct scan_range *ranges, unsigned max)
{
    struct maps maps;
    struct map map;
    unsigned count = 0;
    if (!maps_open(&maps))
        return 0;
    while (count < max && maps_next(&maps, &map)) {
        if (!map.readable || map.writable || map.path[0] != '/')
            continue;
        if (count > 0 && ranges[count - 1].end == map.start)
            ranges[count - 1].end = map.end;
        else
            ranges[count++] = (struct scan_range){map.start, map.end};
    }
    maps_close(&maps);
    return count;
}

static bool has_stack(const struct roots *roots, const struct map *map)
{
    for (unsigned i = 0; i < roots->threads_count; i++)
        if (roots->threads[i].sp >= map->start && roots->threads[i].sp < map->end)
            return true;
    return false;
}

static bool is_root(const struct roots *roots, const struct map *map)
{
    if (!map->readable || !map->writable || map->shared || arena_owns(map->start))
        return false;
    if (map->path[0] == '/')
        return strncmp(map->path, "/dev/", 5) != 0 || strncmp(map->path, "/dev/zero", 9) == 0;
    return roots->mappings || map->path[0] != '\0' || has_stack(roots, map);
}

/* The first part of [at, end) that counts as a root; false if there is none. A thread's stack
 * begins at its stack pointer; the kernel may have joined a mapping of ours with the program's. */
static bool next_part(const struct roots *roots, const struct map *map, uintptr_t *at,
                      uintptr_t *end)
{
    for (unsigned i = 0; i < roots->skip_count; i++) {
        const struct scan_range *skip = &roots->skip[i];
        if (*at >= skip->start && *at < skip->end)
            *at = skip->end;
        if (skip->start > *at && skip->start < *end)
            *end = skip->start;
    }
    for (unsigned i = 0; i < roots->threads_count; i++) {
        uintptr_t sp = roots->threads[i].sp;
        if (*at == map->start && sp >= map->start && sp < map->end)
            *at = sp - RED_ZONE > map->start ? sp - RED_ZONE : map->start;
    }
    return *at < *end;
}

static void scan_mapping(const struct roots *roots, struct reader *reader, const struct map *map)
{
    uintptr_t at = map->start, end = map->end;
    while (at < map->end) {
        end = map->end;
        if (!next_part(roots, map, &at, &end))
            return;
        scan_range(reader, at, end);
        at = end;
    }
}

/* Reads what is there, and scans it. What can't be read holds no pointer that the program could
 * use. */
static void scan_bytes(struct reader *reader, uintptr_t start, uintptr_t end)
{
    for (uintptr_t at = start; at < end;) {
        size_t want = end - at < BUFFER ? end - at : BUFFER;
        ssize_t got = reader->memory < 0
                          ? -1
                          : os_read_at(reader->memory, reader->buffer, want, (uint64_t)at);
        if (got <= 0)
            return;
        scan_root(reader->scan, (uintptr_t)reader->buffer, (uintptr_t)reader->buffer + (size_t)got);
        at += (size_t)got;
    }
}

static void scan_range(struct reader *reader, uintptr_t start, uintptr_t end)
{
    uint64_t pages[PAGES];
    size_t page = os_page_size();
    uintptr_t at = start & ~(uintptr_t)(page - 1);
    while (at < end) {
        size_t count = (end - at + page - 1) / page < PAGES ? (end - at + page - 1) / page : PAGES;
        ssize_t got = reader->pagemap < 0
                          ? -1
                          : os_read_at(reader->pagemap, pages, count * sizeof pages[0],
                                       at / page * sizeof pages[0]);
        if (got != (ssize_t)(count * sizeof pages[0]))
            for (size_t i = 0; i < count; i++)
                pages[i] = PAGE_PRESENT;
        for (size_t i = 0, k; i < count; i = k + 1) {
            for (k = i; k < count && (pages[k] & (PAGE_PRESENT | PAGE_SWAPPED)) != 0; k++)
                ;
            uintptr_t from = at + i * page, to = at + k * page;
            if (to > from)
                scan_bytes(reader, from > start ? from : start, to < end ? to : end);
        }
        at += count * page;
    }
}
