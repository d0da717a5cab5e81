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
#include "lib/leak/declared.h"
#include "lib/leak/ended.h"

enum {
    RED_ZONE = 128,    /* bytes below the stack pointer that functions may use */
    PAGES = 512,       /* asked about at once */
    BUFFER = 64 << 10, /* read at once */
};

/* Of /proc/self/pagemap, a word a page. */
static const uint64_t PAGE_PRESENT = UINT64_C(1) << 63, PAGE_SWAPPED = UINT64_C(1) << 62;

struct reader {
    const struct roots *roots;
    struct scan *scan;
    int memory, pagemap; /* descriptors; -1: all pages count as present */
    uintptr_t *buffer;
    uintptr_t *sps, *tps; /* of all threads, sorted */
    unsigned sps_count, tps_count;
    struct ended ended;
    bool guarded; /* what lies before the mapping can't be read, nor written to */
};

static void scan_declared(void *reader, uintptr_t start, size_t size);
static void threads_sort(struct reader *reader);
static bool is_root(const struct reader *reader, const struct map *map);
static void scan_mapping(struct reader *reader, const struct map *map);
static void scan_bytes(struct reader *reader, uintptr_t start, uintptr_t end);
static void scan_range(struct reader *reader, uintptr_t start, uintptr_t end);

bool roots_scan(struct roots *roots, struct scan *scan)
{
    struct maps maps;
    struct map map;
    struct reader reader = {.roots = roots, .scan = scan};
    size_t points_bytes = (roots->threads_count + 1) * sizeof *reader.sps;
    reader.buffer = os_map(BUFFER);
    reader.sps = os_map(points_bytes);
    reader.tps = os_map(points_bytes);
    if (reader.buffer == NULL || reader.sps == NULL || reader.tps == NULL || !maps_open(&maps))
        return false;
    roots_skip(roots, reader.buffer, BUFFER);
    roots_skip(roots, reader.sps, points_bytes);
    roots_skip(roots, reader.tps, points_bytes);
    threads_sort(&reader);
    ended_begin(&reader.ended, roots->threads, roots->threads_count);
    reader.memory = os_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    reader.pagemap = os_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
    for (unsigned i = 0; i < roots->threads_count && !roots->without_stacks; i++) {
        const uintptr_t *registers = roots->threads[i].registers;
        scan_root(scan, (uintptr_t)registers, (uintptr_t)(registers + ROOTS_REGISTERS));
    }
    declared_each(scan_declared, &reader);
    bool any = false;
    for (uint64_t guard_end = 0; maps_next(&maps, &map);) {
        any = true;
        reader.guarded = guard_end == map.start;
        if (!map.readable && !map.writable)
            guard_end = map.end;
        if (is_root(&reader, &map))
            scan_mapping(&reader, &map);
    }
    maps_close(&maps);
    if (reader.memory >= 0)
        os_close(reader.memory);
    if (reader.pagemap >= 0)
        os_close(reader.pagemap);
    os_unmap(reader.buffer, BUFFER);
    os_unmap(reader.sps, points_bytes);
    os_unmap(reader.tps, points_bytes);
    return any;
}

/* Sorted by address. */
void roots_skip(struct roots *roots, const void *start, size_t size)
{
    unsigned at = roots->skip_count++;
    for (; at > 0 && roots->skip[at - 1].start > (uintptr_t)start; at--)
        roots->skip[at] = roots->skip[at - 1];
    roots->skip[at] = (struct scan_range){(uintptr_t)start, (uintptr_t)start + size};
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

static void scan_declared(void *reader, uintptr_t start, size_t size)
{
    if (size == 0)
        scan_root_word(((struct reader *)reader)->scan, start);
    else /* whatever pages the copy has: of shared memory it has none before it reads */
        scan_bytes(reader, start, start + size);
}

static void words_sort(uintptr_t *words, unsigned count)
{
    for (unsigned gap = count / 2; gap > 0; gap /= 2)
        for (unsigned i = gap; i < count; i++) {
            uintptr_t word = words[i];
            unsigned at = i;
            for (; at >= gap && words[at - gap] > word; at -= gap)
                words[at] = words[at - gap];
            words[at] = word;
        }
}

static void threads_sort(struct reader *reader)
{
    for (unsigned i = 0; i < reader->roots->threads_count; i++) {
        const struct roots_thread *thread = &reader->roots->threads[i];
        reader->sps[reader->sps_count++] = thread->sp;
        if (thread->tp != 0)
            reader->tps[reader->tps_count++] = thread->tp;
    }
    words_sort(reader->sps, reader->sps_count);
    words_sort(reader->tps, reader->tps_count);
}

/* The lowest of the sorted words in the mapping; 0: there is none. */
static uintptr_t lowest_in(const uintptr_t *words, unsigned count, const struct map *map)
{
    unsigned low = 0, high = count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (words[middle] < map->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && words[low] < map->end ? words[low] : 0;
}

static uintptr_t stack_in(const struct reader *reader, const struct map *map)
{
    return lowest_in(reader->sps, reader->sps_count, map);
}

static bool is_root(const struct reader *reader, const struct map *map)
{
    if (!map->readable || !map->writable || map->shared || arena_owns(map->start))
        return false;
    if (stack_in(reader, map) != 0 || lowest_in(reader->tps, reader->tps_count, map) != 0)
        return !reader->roots->without_stacks;
    if (reader->roots->without_globals)
        return false;
    if (map->path[0] == '/')
        return strncmp(map->path, "/dev/", 5) != 0 || strncmp(map->path, "/dev/zero", 9) == 0;
    return reader->roots->mappings || map->path[0] != '\0';
}

/* The first part of [at, end) that counts as a root; false if there is none. The kernel may have
 * joined a mapping of ours with the program's. */
static bool next_part(const struct roots *roots, uintptr_t *at, uintptr_t *end)
{
    for (unsigned i = 0; i < roots->skip_count; i++) {
        const struct scan_range *skip = &roots->skip[i];
        if (*at >= skip->start && *at < skip->end)
            *at = skip->end;
        if (skip->start > *at && skip->start < *end)
            *end = skip->start;
    }
    return *at < *end;
}

/* What counts of a mapping that may be the stack of a thread that has ended. */
static struct scan_range ended_part(struct reader *reader, const struct map *map)
{
    enum { TAIL = 8192 };
    struct scan_range part = {map->start, map->end};
    size_t bytes = map->end - map->start < TAIL ? map->end - map->start : TAIL;
    if (reader->roots->threads_complete && reader->memory >= 0 &&
        os_read_at(reader->memory, reader->buffer, bytes, map->end - bytes) == (ssize_t)bytes)
        ended_stack(&reader->ended, reader->buffer, bytes, map->end, reader->tps, reader->tps_count,
                    &part);
    return part;
}

static void scan_mapping(struct reader *reader, const struct map *map)
{
    struct scan_range part = {map->start, map->end};
    uintptr_t sp = stack_in(reader, map), end;
    if (sp != 0 && (reader->guarded || map->path[0] == '[')) {
        if (sp - RED_ZONE > part.start)
            part.start = sp - RED_ZONE;
    } else if (sp == 0 && reader->guarded && map->path[0] == '\0') {
        part = ended_part(reader, map);
    }
    for (; part.start < part.end; part.start = end) {
        end = part.end;
        if (!next_part(reader->roots, &part.start, &end))
            return;
        scan_range(reader, part.start, end);
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
        if (got <= 0) { /* a page that can't be touched: others behind it may be blocks */
            at = (at | (os_page_size() - 1)) + 1;
            continue;
        }
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
