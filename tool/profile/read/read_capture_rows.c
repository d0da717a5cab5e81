/* SPDX-License-Identifier: MIT */
/*
 * The second pass over a capture: rows become samples (capture_samples.h).
 *
 * Libraries come and go, and another one may be at the same place later. An address of a node means
 * the first library of those that were unloaded after the node was made; else what was mapped there
 * when its node was written. If nothing was there then, the latest list of mappings that has
 * something is asked.
 */
#include "tool/profile/read/read_capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/deleted.h"
#include "tool/memory/memory.h"
#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read_capture_clock.h"
#include "tool/profile/read/read_capture_leaks.h"
#include "tool/profile/read/read_capture_locks.h"
#include "tool/profile/read/read_capture_pins.h"
#include "tool/profile/read/read_capture_threads.h"

enum {
    FRAMES_MAX = 1024, /* what the library records is far below */
    STACK_OTHER = 1,
};

struct node {
    uint32_t caller, location;
};

struct taking {
    const struct read_input *input;
    const struct capture_plan *plan;
    struct profile *profile;
    size_t seen;                   /* snapshots that have begun; the present one is the last */
    const struct snapshot *wanted; /* the present snapshot if its rows are wanted, or NULL */
    bool target;                   /* the present snapshot is the one whose rows become samples */
    struct list nodes;             /* struct node */
    /* Mappings. */
    struct keys places; /* start, end and string of the path: to the list below */
    struct list known;  /* uint32_t: mappings */
    struct list active; /* struct place: those of the present list, by address */
    struct list gone;   /* struct moved: what was unloaded up to the last list */
    struct list ended;  /* struct ended: what was unloaded up to the last list of the file */
    bool sorted;
    struct keys second; /* further locations of an address that had several mappings in turn */
    struct list seconds;
    struct capture_threads threads;
    struct capture_samples samples;
    struct clock_rows clock;
    struct lock_rows locks;
    struct leak_rows leaks;
    struct pin_rows pins;
    bool covered; /* the present snapshot: every block was subject to sampling */
    uint32_t last_node, last_stack;
};

struct place {
    uint64_t start, end;
    uint32_t mapping;
};

/* An object that was unloaded when there were `nodes`. */
struct ended {
    struct profile_mapping mapping;
    uint64_t nodes;
};

static void take_ended(struct taking *taking);
static void take_class(void *context, const struct capture_class *class);
static void take_row(void *context, const struct capture_row *row);
static void take_whole(void *context, uint64_t rows);
static void take_totals(void *context, const struct capture_totals *totals);
static void take_allocator(void *context, const struct capture_allocator *allocator);
static void take_maps(void *context);
static void take_map(void *context, const struct capture_map *map);
static void take_gone(struct taking *taking, const struct capture_map *map);
static int compare_places(const void *a, const void *b);
static void find_late(struct profile *profile);
static void take_node(void *context, uint32_t node, uint32_t caller, uint64_t pc);
static uint32_t locate(struct taking *taking, uint32_t node, uint64_t pc);
static uint32_t stack_of(struct taking *taking, uint32_t node);
static void take_thread(void *context, const struct capture_thread *thread);
static void take_snapshot(void *context, const struct capture_snapshot *snapshot);
static bool is_wanted(void *context);
static void take_cpu(void *context, const struct capture_cpu *cpu);
static void take_cpu_thread(void *context, const struct capture_cpu_thread *thread);
static void take_cpu_row(void *context, const struct capture_cpu_row *row);
static void take_leaks(void *context, const struct capture_leaks *leaks);
static void take_leak(void *context, const struct capture_leak *leak);
static void leak_samples(struct taking *taking);
static void take_part(void *context, const struct capture_part *part);
static void pin_samples(struct taking *taking);
static void clock_samples(struct taking *taking);
static void lock_samples(struct taking *taking);

bool capture_take_rows(const struct read_input *input, const struct capture_plan *plan,
                       struct profile *profile, struct read_error *error)
{
    static const struct capture_calls calls = {
        .maps = take_maps,
        .map = take_map,
        .node = take_node,
        .thread = take_thread,
        .snapshot = take_snapshot,
        .class = take_class,
        .row = take_row,
        .whole = take_whole,
        .totals = take_totals,
        .allocator = take_allocator,
        .cpu = take_cpu,
        .cpu_thread = take_cpu_thread,
        .cpu_row = take_cpu_row,
        .leaks = take_leaks,
        .leak = take_leak,
        .part = take_part,
        .wanted = is_wanted,
        .checked = true,
    };
    struct taking taking = {.input = input, .plan = plan, .profile = profile};
    struct capture_error wrong;
    capture_threads_start(&taking.threads, profile);
    capture_samples_start(&taking.samples, profile, input->options.raw);
    take_ended(&taking);
    enum capture_result result =
        capture_read(input->bytes, plan->whole_size, &calls, &taking, &wrong);
    leak_samples(&taking);
    pin_samples(&taking);
    clock_samples(&taking);
    lock_samples(&taking);
    find_late(profile);
    moved_mark(profile, taking.gone.items, taking.gone.count);
    if (profile->period < 0) /* recording is off now: what there is was sampled at this rate */
        profile->period = taking.samples.largest_rate;
    if (profile->kind == PROFILE_HEAP)
        profile->period_type = profile_type_make(profile, TYPE_SPACE, UNIT_BYTES);
    struct keys *keys[] = {&taking.places, &taking.second};
    struct list *lists[] = {&taking.nodes,   &taking.known, &taking.active,
                            &taking.seconds, &taking.gone,  &taking.ended};
    capture_samples_free(&taking.samples);
    clock_rows_free(&taking.clock);
    lock_rows_free(&taking.locks);
    capture_threads_free(&taking.threads);
    leak_rows_free(&taking.leaks);
    pin_rows_free(&taking.pins);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        keys_free(keys[i]);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        free(lists[i]->items);
    return result != CAPTURE_REFUSED || read_refuse(error, wrong.offset, "%s", wrong.reason);
}

static void take_class(void *context, const struct capture_class *class)
{
    struct taking *taking = context;
    if (taking->wanted)
        capture_samples_class(&taking->samples, class);
}

static void take_row(void *context, const struct capture_row *row)
{
    struct taking *taking = context;
    struct profile_samples *samples = &taking->profile->samples;
    size_t sample;
    bool fresh;
    if (!taking->wanted || taking->profile->failed)
        return;
    const struct capture_named *thread = capture_threads_find(&taking->threads, row->thread);
    if (!capture_samples_row(&taking->samples, row, thread ? thread->id : CAPTURE_THREAD_OTHER,
                             &sample, &fresh) ||
        !fresh)
        return;
    samples->stacks[sample] = stack_of(taking, row->stack);
    samples->label_sets[sample] = capture_threads_labels(&taking->threads, thread, row->size);
}

static void take_whole(void *context, uint64_t rows)
{
    struct taking *taking = context;
    (void)rows;
    if (!taking->wanted || taking->profile->failed)
        return;
    capture_samples_whole(&taking->samples, taking->covered);
    if (taking->target && taking->plan->at_peak)
        capture_samples_peak(&taking->samples);
}

static int64_t off_time(uint64_t start_ms, uint64_t off_ms)
{
    int64_t since = capture_ns_between(start_ms, off_ms);
    return since == 0 && off_ms > 0 ? 1 : since; /* 0 is "it is on" */
}

static void take_totals(void *context, const struct capture_totals *totals)
{
    struct taking *taking = context;
    struct profile *profile = taking->profile;
    taking->covered = totals->covered;
    if (!taking->target)
        return;
    profile->memory.recorded = totals->live.usable;
    profile->memory.asked = totals->live.requested;
    profile->lost = totals->lost;
    profile->off_time_ns = off_time(taking->plan->start_ms, totals->off_ms);
    profile->refused = totals->refused;
    profile->peak_time_ns = capture_ns_between(taking->plan->start_ms, totals->peak_ms);
    if (profile->peak_time_ns == 0 && totals->peak_ms > 0)
        profile->peak_time_ns = 1; /* 0 is "not known" */
}

static void take_allocator(void *context, const struct capture_allocator *allocator)
{
    struct taking *taking = context;
    struct profile *profile = taking->profile;
    if (allocator->resident_bytes > profile->heap_resident_bytes)
        profile->heap_resident_bytes = allocator->resident_bytes;
    if (!taking->target || allocator->allocs > INT64_MAX || allocator->frees > INT64_MAX ||
        allocator->alloc_bytes > INT64_MAX || allocator->live_bytes > INT64_MAX)
        return;
    profile->exact_allocs = (int64_t)allocator->allocs;
    profile->exact_frees = (int64_t)allocator->frees;
    profile->exact_alloc_bytes = (int64_t)allocator->alloc_bytes;
    profile->exact_live_bytes = (int64_t)allocator->live_bytes;
    profile->resident_peak_bytes = allocator->process_peak_bytes;
    capture_memory(&profile->memory, allocator);
}

/* ---- mappings ---- */

static void take_maps(void *context)
{
    struct taking *taking = context;
    taking->active.count = 0;
    taking->gone.count = 0;
}

static uint32_t hex_string(struct profile *profile, struct capture_text bytes)
{
    char hex[2 * 64];
    if (bytes.length > sizeof hex / 2)
        return 0;
    for (size_t i = 0; i < 2 * bytes.length; i++) {
        unsigned byte = (unsigned char)bytes.bytes[i / 2];
        hex[i] = "0123456789abcdef"[(i % 2 == 0 ? byte >> 4 : byte) & 15];
    }
    return profile_string(profile, hex, 2 * bytes.length);
}

static struct profile_mapping mapping_of(struct profile *profile, const struct capture_map *map)
{
    return (struct profile_mapping){
        .start = map->start,
        .limit = map->end,
        .offset = map->offset,
        .path = profile_string(profile, map->path.bytes,
                               deleted_cut(map->path.bytes, map->path.length)),
        .build_id = hex_string(profile, map->build_id)};
}

/* Its number in the profile, each once; 0: memory is out. */
static uint32_t mapping_add(struct taking *taking, const struct profile_mapping *mapping)
{
    bool fresh;
    struct key key = {{mapping->start, mapping->limit ^ mapping->offset << 1,
                       (uint64_t)mapping->path << 32 | mapping->build_id}};
    uint32_t number = keys_add(&taking->places, key, &fresh);
    if (fresh) {
        uint32_t *kept = profile_list_add(taking->profile, &taking->known, sizeof *kept);
        if (kept)
            *kept = profile_mapping(taking->profile, mapping);
    }
    return number < taking->known.count ? ((uint32_t *)taking->known.items)[number] : 0;
}

static void take_map(void *context, const struct capture_map *map)
{
    struct taking *taking = context;
    bool gone = map->flags & MAP_GONE;
    if (gone)
        take_gone(taking, map);
    if (gone ? !capture_is_gone(map) : !(map->flags & MAP_EXECUTABLE))
        return;
    struct profile_mapping mapping = mapping_of(taking->profile, map);
    uint32_t number = mapping_add(taking, &mapping);
    if (gone) /* `find_ended` and `find_ever` find it */
        return;
    struct place *place = profile_list_add(taking->profile, &taking->active, sizeof *place);
    if (place)
        *place = (struct place){map->start, map->end, number};
    taking->sorted = false;
}

/* The first pass has found them, since the nodes that they stand for come before their list. */
static void take_ended(struct taking *taking)
{
    const struct capture_map *gone = taking->plan->gone->items;
    for (size_t i = 0; i < taking->plan->gone->count; i++) {
        struct ended *ended = profile_list_add(taking->profile, &taking->ended, sizeof *ended);
        if (ended)
            *ended = (struct ended){mapping_of(taking->profile, &gone[i]), gone[i].inode};
    }
}

static void take_gone(struct taking *taking, const struct capture_map *map)
{
    struct profile *profile = taking->profile;
    uint32_t path = profile_string(profile, map->path.bytes, map->path.length);
    struct moved *kept = profile_list_add(profile, &taking->gone, sizeof *kept);
    if (kept)
        *kept = (struct moved){map->start, map->end, path, hex_string(profile, map->build_id)};
}

static uint32_t find_ended(struct taking *taking, uint32_t node, uint64_t address)
{
    const struct ended *ended = taking->ended.items;
    for (size_t i = 0; i < taking->ended.count; i++)
        if (node < ended[i].nodes && ended[i].mapping.start <= address &&
            address < ended[i].mapping.limit)
            return mapping_add(taking, &ended[i].mapping);
    return 0;
}

static uint32_t find_active(struct taking *taking, uint64_t address)
{
    struct place *places = taking->active.items;
    size_t low = 0, high = taking->active.count;
    if (!taking->sorted && high > 0)
        qsort(places, high, sizeof *places, compare_places);
    taking->sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < taking->active.count && places[low].start <= address ? places[low].mapping : 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static uint32_t find_ever(const struct profile *profile, uint64_t address)
{
    for (size_t i = profile->mappings.count - 1; i > 0; i--) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, (uint32_t)i);
        if (mapping->start <= address && address < mapping->limit)
            return (uint32_t)i;
    }
    return 0;
}

/* A list may come after the first nodes of code that it tells of. */
static void find_late(struct profile *profile)
{
    struct profile_location *locations = profile->locations.items;
    for (size_t i = 0; i < profile->locations.count; i++)
        if (locations[i].mapping == 0 && locations[i].address > 0)
            locations[i].mapping = find_ever(profile, locations[i].address - 1);
}

/* ---- nodes ---- */

static void take_node(void *context, uint32_t node, uint32_t caller, uint64_t pc)
{
    struct taking *taking = context;
    while (taking->nodes.count < node) /* 0 and 1 are never written */
        if (!profile_list_add(taking->profile, &taking->nodes, sizeof(struct node)))
            return;
    uint32_t location = locate(taking, node, pc);
    struct node *kept = profile_list_add(taking->profile, &taking->nodes, sizeof *kept);
    if (kept)
        *kept = (struct node){caller, location};
}

static uint32_t locate(struct taking *taking, uint32_t node, uint64_t pc)
{
    struct profile *profile = taking->profile;
    size_t before = profile->locations.count;
    uint32_t location = profile_address(profile, pc, 0), mapping = 0;
    if (profile->failed)
        return 0;
    if (pc > 0 && (mapping = find_ended(taking, node, pc - 1)) == 0 &&
        (mapping = find_active(taking, pc - 1)) == 0)
        mapping = find_ever(profile, pc - 1);
    struct profile_location *first = (struct profile_location *)profile->locations.items + location;
    if (location >= before)
        first->mapping = mapping;
    if (first->mapping == mapping)
        return location;
    bool fresh;
    uint32_t number = keys_add(&taking->second, (struct key){{pc, mapping, 0}}, &fresh);
    if (fresh) {
        struct profile_location another = {.address = pc, .mapping = mapping};
        uint32_t *kept = profile_list_add(profile, &taking->seconds, sizeof *kept);
        if (kept)
            *kept = profile_location(profile, &another, NULL, 0);
    }
    return number < taking->seconds.count ? ((uint32_t *)taking->seconds.items)[number] : 0;
}

static uint32_t stack_of(struct taking *taking, uint32_t node)
{
    uint32_t locations[FRAMES_MAX], count = 0;
    const struct node *nodes = taking->nodes.items;
    if (node == taking->last_node && node > STACK_OTHER)
        return taking->last_stack;
    for (uint32_t at = node; at > STACK_OTHER && at < taking->nodes.count; at = nodes[at].caller) {
        if (count == FRAMES_MAX) {
            profile_warn(taking->profile, "stacks of more than %d frames are cut", FRAMES_MAX);
            break;
        }
        locations[count++] = nodes[at].location;
    }
    taking->last_node = node;
    taking->last_stack = count > 0 ? profile_stack(taking->profile, locations, count)
                                   : capture_samples_named(taking->profile, "[stack not recorded]");
    return taking->last_stack;
}

/* ---- snapshots and threads ---- */

static void take_thread(void *context, const struct capture_thread *thread)
{
    struct taking *taking = context;
    capture_threads_take(&taking->threads, thread, taking->wanted != NULL);
}

static void take_snapshot(void *context, const struct capture_snapshot *snapshot)
{
    struct taking *taking = context;
    const struct snapshot *present = &taking->plan->snapshots[taking->seen];
    taking->target = taking->seen++ == taking->plan->target;
    taking->wanted = taking->target || present->column > 0 ? present : NULL;
    capture_threads_anew(&taking->threads);
    taking->covered = false;
    capture_samples_snapshot(&taking->samples, taking->target,
                             taking->wanted ? present->column : 0);
    if (taking->target)
        taking->profile->period = snapshot->rate;
}

static bool is_wanted(void *context)
{
    return ((struct taking *)context)->wanted != NULL;
}

/* ---- time ---- */

static void take_cpu(void *context, const struct capture_cpu *cpu)
{
    struct taking *taking = context;
    if (taking->target)
        clock_rows_start(&taking->clock, taking->profile, cpu);
}

static void take_cpu_thread(void *context, const struct capture_cpu_thread *thread)
{
    struct taking *taking = context;
    if (taking->target)
        clock_rows_thread(&taking->clock, taking->profile, thread);
}

static void take_cpu_row(void *context, const struct capture_cpu_row *row)
{
    struct taking *taking = context;
    if (taking->target)
        clock_rows_row(&taking->clock, taking->profile, row);
}

static void take_leaks(void *context, const struct capture_leaks *leaks)
{
    struct taking *taking = context;
    if (taking->target)
        leak_rows_start(&taking->leaks, taking->profile, leaks, taking->plan->start_ms);
}

static void take_leak(void *context, const struct capture_leak *leak)
{
    struct taking *taking = context;
    if (taking->target)
        leak_rows_row(&taking->leaks, taking->profile, leak);
}

/* Of the thread with that number in the snapshot. */
static uint32_t labels_of(struct taking *taking, uint32_t thread, uint64_t size)
{
    return capture_threads_labels(&taking->threads, capture_threads_find(&taking->threads, thread),
                                  size);
}

static void leak_samples(struct taking *taking)
{
    struct profile *profile = taking->profile;
    struct leak_rows *leaks = &taking->leaks;
    bool known = leak_rows_end(leaks, profile);
    for (size_t i = 0; known && i < leaks->rows.count && !profile->failed; i++) {
        const struct leak_row *row = (struct leak_row *)leaks->rows.items + i;
        leak_rows_add(leaks, profile, row, stack_of(taking, row->leak.stack),
                      labels_of(taking, row->leak.thread, row->leak.size));
    }
}

static void take_part(void *context, const struct capture_part *part)
{
    struct taking *taking = context;
    if (!taking->target)
        return;
    switch (part->type) {
    case RECORD_CPU_COURSES:
        clock_rows_courses(&taking->clock, taking->profile, part);
        break;
    case RECORD_LEAK_LOOKS:
    case RECORD_LEAK_AGES:
        leak_rows_part(&taking->leaks, taking->profile, part);
        break;
    case RECORD_LOCKS:
    case RECORD_LOCK_ROWS:
        lock_rows_part(&taking->locks, taking->profile, part);
        break;
    case RECORD_THREAD_COUNTS:
        capture_threads_counts(&taking->threads, part);
        break;
    default:
        if (taking->input->options.pins)
            pin_rows_part(&taking->pins, taking->profile, part);
    }
}

static void pin_samples(struct taking *taking)
{
    struct pin_rows *pins = &taking->pins;
    bool known = pin_rows_end(pins, taking->profile);
    for (size_t i = 0; known && i < pins->rows.count && !taking->profile->failed; i++) {
        const struct pin_row *row = (struct pin_row *)pins->rows.items + i;
        pin_rows_add(pins, taking->profile, row, stack_of(taking, row->stack),
                     labels_of(taking, row->thread, row->size));
    }
}

static void clock_samples(struct taking *taking)
{
    struct profile *profile = taking->profile;
    struct clock_rows *clock = &taking->clock;
    clock_rows_sort(clock);
    capture_threads_join(&taking->threads, clock);
    if (!clock_rows_end(clock, profile))
        return;
    uint32_t others = capture_threads_labels(&taking->threads, NULL, 0);
    for (size_t i = 0; i < clock->rows.count && !profile->failed; i++) {
        const struct capture_cpu_row *row = (struct capture_cpu_row *)clock->rows.items + i;
        const struct clock_thread *thread = clock_rows_find(clock, row->thread);
        clock_rows_add(clock, profile, row, stack_of(taking, row->stack),
                       thread ? thread->labels : others);
    }
}

static void lock_samples(struct taking *taking)
{
    struct lock_rows *locks = &taking->locks;
    bool known = lock_rows_end(locks, taking->profile);
    for (size_t i = 0; known && i < locks->rows.count && !taking->profile->failed; i++) {
        const struct lock_row *row = (struct lock_row *)locks->rows.items + i;
        const struct clock_thread *thread = clock_rows_find(&taking->clock, row->thread);
        const struct clock_thread *holder = clock_rows_find(&taking->clock, row->holder);
        lock_rows_add(
            locks, taking->profile, row, stack_of(taking, row->stack),
            capture_threads_waits(&taking->threads, thread, holder, lock_kind_word(row->kind)));
    }
}
