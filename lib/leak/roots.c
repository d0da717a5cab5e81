/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/roots.h. Runs in a copy of the process, or while its threads stand still, so the
 * list of mappings does not change meanwhile. Memory is read through the kernel: a private mapping
 * of a file that was cut short would end the program by SIGBUS, and a device may do anything.
 */
#include "lib/leak/roots.h"

#include <string.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/leak/declared.h"
#include "lib/leak/ended.h"

enum {
    RED_ZONE = 128, /* bytes below the stack pointer that functions may use */
    /* Bytes beside the thread pointer: glibc's `struct pthread` has as many, musl's fewer. */
    DESCRIPTOR = 0x900,
    BUFFER = 64 << 10, /* read at once */
    /* Without the quick way of touched.h, reserved memory beyond this is not searched for pages. */
    RESERVED_MAX = 1 << 30,
};

struct reader {
    const struct roots *roots;
    struct scan *scan;
    int memory; /* of os_memory_open */
    uintptr_t *buffer;
    uintptr_t *sps, *tps; /* of all threads, sorted */
    unsigned sps_count, tps_count;
    struct ended ended;
    bool guarded; /* what lies before the mapping can't be read, nor written to */
};

static void scan_registers(struct reader *reader, const struct roots_thread *thread);
static void scan_declared(void *reader, uintptr_t start, size_t size);
static void threads_sort(struct reader *reader);
static bool is_root(const struct reader *reader, const struct map *map);
static void scan_mapping(struct reader *reader, const struct map *map);
static touched_visitor scan_bytes;

bool roots_scan(struct roots *roots, struct scan *scan)
{
    struct maps maps;
    struct map map;
    struct reader reader = {.roots = roots, .scan = scan};
    size_t points = roots->threads_count + 1, bytes = BUFFER + 2 * points * sizeof *reader.sps;
    bool any = false;
    reader.buffer = os_map(bytes);
    if (reader.buffer == NULL)
        return false;
    reader.sps = reader.buffer + BUFFER / sizeof *reader.buffer;
    reader.tps = reader.sps + points;
    reader.memory = os_memory_open();
    if (reader.memory == -1 || !maps_open(&maps))
        goto done;
    roots_skip(roots, reader.buffer, bytes);
    threads_sort(&reader);
    ended_begin(&reader.ended, roots->threads, roots->threads_count, reader.memory);
    for (unsigned i = 0; i < roots->threads_count && !roots->without.registers; i++)
        scan_registers(&reader, &roots->threads[i]);
    declared_each(scan_declared, &reader);
    for (uint64_t guard_end = 0; maps_next(&maps, &map);) {
        any = true;
        reader.guarded = guard_end == map.start;
        if (!map.readable && !map.writable)
            guard_end = map.end;
        if (is_root(&reader, &map))
            scan_mapping(&reader, &map);
    }
    maps_close(&maps);
done:
    os_memory_close(reader.memory);
    os_unmap(reader.buffer, bytes);
    return any;
}

/* Sorted by address. */
void roots_skip(struct roots *roots, const void *start, size_t size)
{
    if (roots->skip_count == ROOTS_SKIP_MAX)
        return;
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

/* Whether the thread is in the kernel, or about to enter it again. */
static bool is_in_call(const struct reader *reader, const struct roots_thread *thread)
{
    char code[2 * ARCH_CALL_BYTES];
    return os_memory_read(reader->memory, code, sizeof code, thread->pc - ARCH_CALL_BYTES) ==
               sizeof code &&
           (arch_is_call(code) || arch_is_call(code + ARCH_CALL_BYTES));
}

static void scan_registers(struct reader *reader, const struct roots_thread *thread)
{
    scan_root(reader->scan, (uintptr_t)thread->registers,
              (uintptr_t)(thread->registers + ROOTS_REGISTERS));
    if (thread->vectors.start == thread->vectors.end || is_in_call(reader, thread))
        return;
    reader->scan->weak = true;
    scan_root(reader->scan, thread->vectors.start, thread->vectors.end);
    reader->scan->weak = false;
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

/* The number of the first of the sorted words that is not below `min`. */
static unsigned first_from(const uintptr_t *words, unsigned count, uintptr_t min)
{
    unsigned low = 0, high = count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (words[middle] < min)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool any_in(const uintptr_t *words, unsigned count, const struct map *map)
{
    unsigned first = first_from(words, count, map->start);
    return first < count && words[first] < map->end;
}

static bool has_stack(const struct reader *reader, const struct map *map)
{
    return any_in(reader->sps, reader->sps_count, map);
}

/* Where the stack with that stack pointer begins; 0: not known, so that all of the mapping counts.
 * libc's descriptor of the thread, around the thread pointer, holds the start of the stack and its
 * size in two words. The mapping may hold more: stacks without a guard page, and those that the
 * program made itself, lie beside other memory. Variables of the thread may describe that: of all
 * such words those with the latest start count. */
static uintptr_t stack_start(struct reader *reader, uintptr_t sp, const struct map *map)
{
    uintptr_t tp = 0;
    if (strcmp(map->path, "[stack]") == 0)
        return map->start;
    for (unsigned i = 0; i < reader->roots->threads_count && tp == 0; i++)
        if (reader->roots->threads[i].sp == sp)
            tp = reader->roots->threads[i].tp;
    if (tp <= sp || tp >= map->end)
        return 0;
    uintptr_t from = tp - sp < DESCRIPTOR ? sp & ~(sizeof sp - 1) : tp - DESCRIPTOR;
    size_t bytes = map->end - from < 2 * DESCRIPTOR ? map->end - from : 2 * DESCRIPTOR;
    ssize_t got = os_memory_read(reader->memory, reader->buffer, bytes, from);
    uintptr_t found = 0;
    for (ssize_t i = 0; i + 1 < got / (ssize_t)sizeof sp; i++) {
        uintptr_t start = reader->buffer[i], size = reader->buffer[i + 1];
        if (start <= sp && size < start && start + size > tp && start + size <= map->end)
            found = start > found ? start : found;
    }
    return found == 0 || found > map->start ? found : map->start;
}

/* Memory that the program shares with processes that it forks, and with no others. */
static bool is_shared_without_name(const struct map *map)
{
    static const char name[] = "/dev/zero (deleted)";
    return strncmp(map->path, name, sizeof name - 1) == 0;
}

bool roots_may_hold(const struct map *map)
{
    if (map->shared && !is_shared_without_name(map))
        return false;
    return strncmp(map->path, "/dev/", 5) != 0 || strncmp(map->path, "/dev/zero", 9) == 0;
}

static bool is_root(const struct reader *reader, const struct map *map)
{
    const struct touched *touched = reader->scan->rules.touched;
    if (!roots_may_hold(map))
        return false;
    if (!map->readable && !touched->quick && map->end - map->start > RESERVED_MAX)
        return false;
    const struct roots_left_out *without = &reader->roots->without;
    if (has_stack(reader, map) || any_in(reader->tps, reader->tps_count, map))
        return !without->stacks || without->but_local_bytes != 0;
    if (without->globals)
        return false;
    return reader->roots->mappings || map->path[0] != '\0';
}

/* The first part of [at, end) that counts as a root; false if there is none. The kernel may have
 * joined a mapping of ours with the program's, and the program may have put one into a gap of the
 * window. */
static bool next_part(const struct roots *roots, uintptr_t *at, uintptr_t *end)
{
    struct scan_range arena;
    uintptr_t last = *end, before;
    do {
        before = *at;
        *end = last;
        for (unsigned i = 0; i < roots->skip_count; i++) {
            const struct scan_range *skip = &roots->skip[i];
            if (*at >= skip->start && *at < skip->end)
                *at = skip->end;
            if (skip->start > *at && skip->start < *end)
                *end = skip->start;
        }
        if (!arena_part(*at, &arena.start, &arena.end))
            continue;
        if (arena.start <= *at)
            *at = arena.end;
        else if (arena.start < *end)
            *end = arena.start;
    } while (*at != before && *at < last);
    return *at < *end;
}

/* What counts of memory that may be the stack of a thread that has ended. */
static struct scan_range ended_part(struct reader *reader, struct scan_range part)
{
    /* Bytes: libc's descriptor of the thread and its thread-local variables. */
    enum { TAIL = 8192 };
    size_t bytes = part.end - part.start < TAIL ? part.end - part.start : TAIL;
    if (reader->roots->threads_complete &&
        os_memory_read(reader->memory, reader->buffer, bytes, part.end - bytes) == (ssize_t)bytes)
        ended_stack(&reader->ended, reader->buffer, bytes, part.end, reader->tps, reader->tps_count,
                    &part);
    return part;
}

static void scan_part(struct reader *reader, const struct map *map, struct scan_range part)
{
    const struct touched *touched =
        map->shared ? reader->roots->touched_before : reader->scan->rules.touched;
    enum touched_kind kind = map->shared ? TOUCHED_ALL : TOUCHED_PRIVATE;
    for (uintptr_t end; part.start < part.end; part.start = end) {
        end = part.end;
        if (!next_part(reader->roots, &part.start, &end))
            return;
        touched_each(touched, part.start, end, kind, scan_bytes, reader);
    }
}

/* Of the stacks of threads: libc's descriptors of the threads, and the variables beside them. */
static void scan_locals(struct reader *reader, const struct map *map)
{
    size_t variables = reader->roots->without.but_local_bytes;
    size_t below = ARCH_DESCRIPTOR_SELF ? variables : DESCRIPTOR;
    size_t above = ARCH_DESCRIPTOR_SELF ? DESCRIPTOR : variables;
    unsigned i = first_from(reader->tps, reader->tps_count, map->start);
    for (; i < reader->tps_count && reader->tps[i] < map->end; i++) {
        uintptr_t tp = reader->tps[i];
        struct scan_range part = {tp - map->start > below ? tp - below : map->start,
                                  map->end - tp > above ? tp + above : map->end};
        scan_part(reader, map, part);
    }
}

/* Without what lies below the stack pointers of threads, in their stacks. */
static void scan_mapping(struct reader *reader, const struct map *map)
{
    const struct touched *touched =
        map->shared ? reader->roots->touched_before : reader->scan->rules.touched;
    /* Not known what was written to: constants may have been variables (RELRO), code was none. */
    bool variable = map->writable || !map->executable;
    if (touched->file < 0 && (!map->readable || !variable || map->shared))
        return;
    if (reader->roots->without.stacks && has_stack(reader, map)) {
        scan_locals(reader, map);
        return;
    }
    struct scan_range part = {map->start, map->end};
    unsigned i = first_from(reader->sps, reader->sps_count, map->start);
    bool ended = reader->guarded && map->writable && map->path[0] == '\0';
    for (; i < reader->sps_count && reader->sps[i] < map->end; i++, ended = false) {
        uintptr_t sp = reader->sps[i], start = stack_start(reader, sp, map);
        uintptr_t low = sp == reader->roots->sp_here ? sp : sp - RED_ZONE;
        if (start < part.start || start >= low)
            continue; /* not known, or inside of the stack of another thread, which is in use */
        struct scan_range before = {part.start, start};
        scan_part(reader, map, ended ? ended_part(reader, before) : before);
        part.start = low;
    }
    scan_part(reader, map, ended ? ended_part(reader, part) : part);
}

/* Reads what is there, and scans it. What can't be read holds no pointer that the program could
 * use. */
static void scan_bytes(void *context, uintptr_t start, uintptr_t end)
{
    struct reader *reader = context;
    for (uintptr_t at = start; at < end;) {
        size_t want = end - at < BUFFER ? end - at : BUFFER;
        ssize_t got = os_memory_read(reader->memory, reader->buffer, want, at);
        if (got <= 0) { /* a page that can't be touched: others behind it may be blocks */
            at = (at | (os_page_size() - 1)) + 1;
            continue;
        }
        scan_root(reader->scan, (uintptr_t)reader->buffer, (uintptr_t)reader->buffer + (size_t)got);
        at += (size_t)got;
    }
}
