/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's own format, for ui.perfetto.dev: heap profiles at the moments whose stacks are known,
 * each a box on the time line, from the moment before it, that opens as a flame graph with four
 * measures; the heap over time as counters; snapshots and marks by name. (write_perfetto.c has the
 * older JSON, which more programs read.)
 *
 * A trace is a row of packets, here of one writer. Texts, frames and stacks are sent once and then
 * meant by their numbers. A heap profile has what each stack allocated and freed since the start;
 * readers refuse sums that shrink. Of moments in between only the live bytes are known: what must
 * have come and gone for them is what is said, in objects of the size that those of the stack
 * usually have: the flame graph leaves out what has bytes but no object.
 */
#include "tool/profile/write/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/file/proto.h"
#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"
#include "tool/profile/write/mappings.h"

/* Numbers of fields, as Perfetto's definitions have them. */
enum {
    TRACE_PACKET = 1,
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_PROFILE = 37,
    PACKET_TRACK = 60,
    INTERNED_FUNCTIONS = 5,
    INTERNED_FRAMES = 6,
    INTERNED_STACKS = 7,
    INTERNED_BUILD_IDS = 16,
    INTERNED_PATHS = 17,
    INTERNED_SOURCES = 18,
    INTERNED_MAPPINGS = 19,
    FLAG_CLEARED = 1,
    FLAG_NEEDS = 2,
    CLOCKS_OF_DAY = 2, /* of these, */
    CLOCKS = 6,        /* the kernel's; the others all show the same here */
    EVENT_INSTANT = 3,
    EVENT_COUNTER = 4,
    COUNTER_IN_BYTES = 3,
};
enum { TRACK_PROCESS = 1, TRACK_LIVE, TRACK_RESIDENT, TRACK_MOMENTS };
/* Samples of a packet, which is made in memory: 4,096 are 0.7 MB at most. */
enum { SAMPLES_MAX = 4096, TEXT_MAX = 4000, SINK_BYTES = 1 << 16 };
static const uint64_t start_ns = 1000000000;       /* 0 would be no time */
static const uint64_t nowhere = UINT64_C(1) << 47; /* and on: places that no file of code has */
static const char unknown[] = "[unknown]";

struct dump {
    int64_t time_ns;
    int bytes, objects; /* columns of live ones, or -1 */
    int place;          /* in the history, or -1 */
    bool end;
};

/* Of a stack, since the start. */
struct sums {
    int64_t allocated, freed, allocated_objects, freed_objects;
};

struct tracer {
    const struct profile *profile;
    struct flat flat;
    struct sink sink;
    char sink_buffer[SINK_BYTES];
    FILE *file;
    struct proto packet, part, inner, entry;
    void *buffers[4];
    struct keys texts[2]; /* sources, modules: by the place of the text */
    struct keys places;   /* of frames: module, name, place in it */
    uint64_t names;       /* of functions, sent */
    struct mappings mappings;
    struct dump dumps[PROFILE_MOMENTS_MAX + 2];
    unsigned dumps_count;
    struct sums *sums;
    int total, total_objects; /* columns, or -1 */
    uint64_t index;           /* of the next heap profile */
    const char *heap;
};

static int sink_write(void *context, const void *bytes, size_t length)
{
    struct tracer *tracer = context;
    return fwrite(bytes, 1, length, tracer->file) != length;
}

static uint64_t pid_of(const struct tracer *tracer)
{
    return tracer->profile->pid > 0 ? (uint64_t)tracer->profile->pid : 1;
}

static uint64_t time_of(int64_t time_ns)
{
    return start_ns + (uint64_t)(time_ns > 0 ? time_ns : 0);
}

/* tracer->part as one field of a packet. */
static void packet_send(struct tracer *tracer, unsigned field, uint64_t time_ns, unsigned flags)
{
    proto_number(&tracer->packet, PACKET_TIMESTAMP, time_ns);
    proto_number(&tracer->packet, PACKET_SEQUENCE, 1);
    proto_number(&tracer->packet, PACKET_FLAGS, flags);
    proto_message(&tracer->packet, field, &tracer->part);
    tracer->part.used = 0;
    proto_send(&tracer->packet, &tracer->sink, TRACE_PACKET);
}

/* A text that is UTF-8 and not too long. */
static void text_put(struct proto *message, unsigned field, const char *text)
{
    char copy[TEXT_MAX + 1];
    snprintf(copy, sizeof copy, "%s", text);
    line_mend(copy);
    proto_bytes(message, field, copy, strlen(copy));
}

/* ---- what is said once ---- */

static void head_put(struct tracer *tracer)
{
    const struct profile *profile = tracer->profile;
    for (uint64_t clock = 1; clock <= CLOCKS; clock++) {
        proto_number(&tracer->inner, 1, clock);
        proto_number(&tracer->inner, 2,
                     clock <= CLOCKS_OF_DAY && profile->time_ns > 0 ? (uint64_t)profile->time_ns
                                                                    : start_ns);
        proto_message(&tracer->part, 1, &tracer->inner);
        tracer->inner.used = 0;
    }
    packet_send(tracer, PACKET_CLOCKS, start_ns, FLAG_CLEARED);
    const char *program = profile_text(profile, profile->program);
    proto_number(&tracer->inner, 1, pid_of(tracer));
    text_put(&tracer->inner, 6, program[0] != '\0' ? program : "profile");
    proto_number(&tracer->part, 1, TRACK_PROCESS);
    proto_message(&tracer->part, 3, &tracer->inner);
    tracer->inner.used = 0;
    packet_send(tracer, PACKET_TRACK, 0, 0);
}

static void track_put(struct tracer *tracer, uint64_t track, const char *name, uint64_t unit)
{
    proto_number(&tracer->part, 1, track);
    text_put(&tracer->part, 2, name);
    proto_number(&tracer->part, 5, TRACK_PROCESS);
    if (unit != 0) {
        proto_number(&tracer->inner, 3, unit);
        proto_message(&tracer->part, 8, &tracer->inner);
        tracer->inner.used = 0;
    }
    packet_send(tracer, PACKET_TRACK, 0, 0);
}

static void counter_put(struct tracer *tracer, uint64_t track, const char *name)
{
    const struct profile_point *points = tracer->profile->points.items;
    track_put(tracer, track, name, COUNTER_IN_BYTES);
    for (size_t i = 0; i < tracer->profile->points.count; i++) {
        if (track == TRACK_RESIDENT && points[i].resident_bytes == 0)
            continue;
        proto_number(&tracer->part, 9, EVENT_COUNTER);
        proto_number(&tracer->part, 11, track);
        proto_value(&tracer->part, 30,
                    track == TRACK_LIVE ? points[i].live_bytes : points[i].resident_bytes);
        packet_send(tracer, PACKET_TRACK_EVENT, time_of(points[i].time_ns), FLAG_NEEDS);
    }
}

static void moments_put(struct tracer *tracer)
{
    const struct profile_moment *moments = tracer->profile->moments.items;
    if (tracer->profile->moments.count > 0)
        track_put(tracer, TRACK_MOMENTS, "snapshots and marks", 0);
    for (size_t i = 0; i < tracer->profile->moments.count; i++) {
        const char *name = profile_text(tracer->profile, moments[i].name);
        proto_number(&tracer->part, 9, EVENT_INSTANT);
        proto_number(&tracer->part, 11, TRACK_MOMENTS);
        text_put(&tracer->part, 23, name[0] != '\0' ? name : "snapshot");
        packet_send(tracer, PACKET_TRACK_EVENT, time_of(moments[i].time_ns), FLAG_NEEDS);
    }
}

static void counters_put(struct tracer *tracer)
{
    const struct profile_point *points = tracer->profile->points.items;
    bool resident = false;
    for (size_t i = 0; i < tracer->profile->points.count; i++)
        resident = resident || points[i].resident_bytes != 0;
    if (tracer->profile->points.count > 0)
        counter_put(tracer, TRACK_LIVE, "live heap");
    if (resident)
        counter_put(tracer, TRACK_RESIDENT, "resident memory");
}

static void interned_send(struct tracer *tracer, unsigned field)
{
    proto_message(&tracer->part, field, &tracer->inner);
    tracer->inner.used = 0;
    packet_send(tracer, PACKET_INTERNED, 0, FLAG_NEEDS);
}

static void string_send(struct tracer *tracer, unsigned field, uint64_t number, const char *text)
{
    proto_number(&tracer->inner, 1, number);
    text_put(&tracer->inner, 2, text);
    interned_send(tracer, field);
}

/* Readers want the bytes that we have in hex. What is no hex is sent as it is. */
static void build_id_send(struct tracer *tracer, uint64_t number, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[TEXT_MAX / 2];
    size_t length = strlen(text);
    bool hex = length % 2 == 0 && length <= TEXT_MAX && strspn(text, digits) == length;
    for (size_t i = 0; i < length / 2 && hex; i++)
        bytes[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) * 16 +
                             (strchr(digits, text[2 * i + 1]) - digits));
    proto_number(&tracer->inner, 1, number);
    if (hex)
        proto_bytes(&tracer->inner, 2, bytes, length / 2);
    else
        text_put(&tracer->inner, 2, text);
    interned_send(tracer, INTERNED_BUILD_IDS);
}

/* A file of code; readers want one for each frame, so that "" is one as well. They abort
 * on one that ends before it starts. */
static void module_send(struct tracer *tracer, uint64_t number, const char *module)
{
    const struct profile *profile = tracer->profile;
    const struct profile_mapping *mapping = mappings_find(&tracer->mappings, module, 0);
    string_send(tracer, INTERNED_PATHS, number, module[0] != '\0' ? module : unknown);
    build_id_send(tracer, number, profile_text(profile, mapping->build_id));
    proto_number(&tracer->inner, 1, number);
    proto_number(&tracer->inner, 2, number);
    proto_number(&tracer->inner, 4, mapping->start);
    proto_number(&tracer->inner, 5,
                 mapping->limit > mapping->start ? mapping->limit : mapping->start);
    proto_number(&tracer->inner, 7, number);
    proto_number(&tracer->inner, 8, mapping->offset);
    interned_send(tracer, INTERNED_MAPPINGS);
}

/* The number of a file, from 1; 0 when memory is out. */
static uint64_t file_number(struct tracer *tracer, bool module, const char *text)
{
    bool fresh;
    uint32_t number =
        keys_add(&tracer->texts[module], (struct key){{(uintptr_t)text, 0, 0}}, &fresh);
    if (number == KEYS_NONE)
        return 0;
    if (fresh && module)
        module_send(tracer, number + UINT64_C(1), text);
    else if (fresh)
        string_send(tracer, INTERNED_SOURCES, number + UINT64_C(1), text);
    return number + UINT64_C(1);
}

/* Where in its file the frame's code is. To readers frames of the same name and place are one,
 * which would make one of stacks that differ in lines: the second one is put nowhere. */
static uint64_t place_of(struct tracer *tracer, size_t number, uint64_t module)
{
    const struct flat_frame *frame = &tracer->flat.frames[number];
    const struct profile_mapping *mapping =
        mappings_find(&tracer->mappings, frame->module, frame->address);
    uint64_t place = frame->address - mapping->start + mapping->offset;
    bool fresh, inside = frame->address >= mapping->start && frame->address < mapping->limit;
    if (inside && frame->module[0] != '\0' && place != 0 && place < nowhere &&
        keys_add(&tracer->places, (struct key){{module, tracer->names, place}}, &fresh) !=
            KEYS_NONE &&
        fresh)
        return place;
    return nowhere + number;
}

/* Frames of one name follow each other. */
static bool frames_put(struct tracer *tracer)
{
    const char *last = NULL;
    for (size_t i = 0; i < tracer->flat.frames_count; i++) {
        const struct flat_frame *frame = &tracer->flat.frames[i];
        if (!last || strcmp(last, frame->name) != 0)
            string_send(tracer, INTERNED_FUNCTIONS, ++tracer->names, frame->name);
        last = frame->name;
        uint64_t module = file_number(tracer, true, frame->module);
        uint64_t source = frame->file[0] != '\0' ? file_number(tracer, false, frame->file) : 0;
        if (module == 0 || (frame->file[0] != '\0' && source == 0))
            return false;
        proto_number(&tracer->inner, 1, i + 1);
        proto_number(&tracer->inner, 2, tracer->names);
        proto_number(&tracer->inner, 3, module);
        proto_number(&tracer->inner, 4, place_of(tracer, i, module));
        proto_number(&tracer->inner, 5, source);
        proto_number(&tracer->inner, 6, frame->line);
        interned_send(tracer, INTERNED_FRAMES);
    }
    /* What a stack without frames has. */
    uint64_t module = file_number(tracer, true, unknown);
    string_send(tracer, INTERNED_FUNCTIONS, ++tracer->names, unknown);
    proto_number(&tracer->inner, 1, tracer->flat.frames_count + 1);
    proto_number(&tracer->inner, 2, tracer->names);
    proto_number(&tracer->inner, 3, module);
    proto_number(&tracer->inner, 4, nowhere + tracer->flat.frames_count);
    interned_send(tracer, INTERNED_FRAMES);
    return module != 0;
}

static void stacks_put(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->flat.stacks_count; i++) {
        struct flat_stack stack = flat_stack(&tracer->flat, i);
        proto_number(&tracer->inner, 1, i + 1);
        for (uint32_t k = 0; k < stack.count; k++)
            proto_number(&tracer->inner, 2, stack.frames[k] + UINT64_C(1));
        if (stack.count == 0)
            proto_number(&tracer->inner, 2, tracer->flat.frames_count + 1);
        interned_send(tracer, INTERNED_STACKS);
    }
}

/* ---- heap profiles ---- */

/* From one number of live ones to another, by as little as that takes. */
static void move(int64_t *allocated, int64_t *freed, int64_t live)
{
    int64_t more = live - (*allocated - *freed);
    *allocated += more > 0 ? more : 0;
    *freed += more < 0 ? -more : 0;
}

/* At the end the sums are known, unless rounding made them too small. */
static void finish(int64_t *allocated, int64_t *freed, int64_t live, int64_t total)
{
    move(allocated, freed, live);
    if (total > *allocated) {
        *freed += total - *allocated;
        *allocated = total;
    }
}

static int64_t column(const struct flat *flat, size_t stack, int type)
{
    int64_t value = type < 0 ? 0 : flat_value(flat, stack, (unsigned)type);
    return value > 0 ? value : 0;
}

/* How many objects `live` bytes are. */
static int64_t objects_of(const struct tracer *tracer, const struct flat *flat,
                          const struct dump *dump, size_t stack, int64_t live)
{
    int64_t all = column(flat, stack, tracer->total);
    double share = live < all ? (double)live / (double)all : live > 0;
    int64_t objects = (int64_t)(share * (double)column(flat, stack, tracer->total_objects));
    if (dump->objects >= 0)
        objects = column(flat, stack, dump->objects);
    return objects == 0 && live > 0 ? 1 : objects;
}

static void sums_move(struct tracer *tracer, const struct flat *flat, const struct dump *dump,
                      size_t stack)
{
    struct sums *sums = &tracer->sums[stack];
    int64_t live = column(flat, stack, dump->bytes);
    int64_t objects = objects_of(tracer, flat, dump, stack, live);
    if (dump->end) {
        finish(&sums->allocated, &sums->freed, live, column(flat, stack, tracer->total));
        finish(&sums->allocated_objects, &sums->freed_objects, objects,
               column(flat, stack, tracer->total_objects));
        return;
    }
    move(&sums->allocated, &sums->freed, live);
    move(&sums->allocated_objects, &sums->freed_objects, objects);
}

/* Some of the samples of a dump; others of the same one follow if it goes on. */
static void samples_send(struct tracer *tracer, const struct dump *dump, bool goes_on)
{
    proto_number(&tracer->inner, 1, pid_of(tracer));
    proto_number(&tracer->inner, 3, 1);
    proto_number(&tracer->inner, 9, time_of(dump->time_ns));
    text_put(&tracer->inner, 11, tracer->heap);
    proto_number(&tracer->inner, 12,
                 tracer->profile->period > 0 ? (uint64_t)tracer->profile->period : 1);
    proto_message(&tracer->part, 5, &tracer->inner);
    tracer->inner.used = 0;
    proto_number(&tracer->part, 6, goes_on);
    proto_number(&tracer->part, 7, tracer->index++);
    packet_send(tracer, PACKET_PROFILE, time_of(dump->time_ns), FLAG_NEEDS);
}

static bool dump_put(struct tracer *tracer, const struct dump *dump)
{
    struct flat own = {0};
    struct dump there = *dump;
    const struct profile *profile = tracer->profile;
    int64_t *values = NULL;
    if (dump->place >= 0) { /* live bytes then, as another column */
        values = calloc(profile->samples.count + 1, sizeof *values);
        for (size_t i = 0; i < profile->samples.count && values; i++)
            values[i] = (int64_t)profile->samples.history[i][dump->place];
        there.bytes = (int)profile->types;
        if (!values ||
            !flat_make(&own, profile, &(struct flat_options){.lines = true, .more = values})) {
            flat_free(&own);
            free(values);
            return false;
        }
    }
    const struct flat *flat = dump->place >= 0 ? &own : &tracer->flat;
    for (size_t i = 0; i < tracer->flat.stacks_count; i++) {
        const struct sums *sums = &tracer->sums[i];
        sums_move(tracer, flat, &there, i);
        if (i > 0 && i % SAMPLES_MAX == 0)
            samples_send(tracer, &there, true);
        proto_number(&tracer->entry, 1, i + 1);
        proto_number(&tracer->entry, 2, (uint64_t)sums->allocated);
        proto_number(&tracer->entry, 3, (uint64_t)sums->freed);
        proto_number(&tracer->entry, 5, (uint64_t)sums->allocated_objects);
        proto_number(&tracer->entry, 6, (uint64_t)sums->freed_objects);
        if (sums->allocated != 0 || sums->allocated_objects != 0)
            proto_message(&tracer->inner, 2, &tracer->entry);
        tracer->entry.used = 0;
    }
    samples_send(tracer, &there, false);
    flat_free(&own);
    free(values);
    return true;
}

static int compare_times(const void *one, const void *other)
{
    const struct dump *a = one, *b = other;
    if (a->end != b->end)
        return a->end ? 1 : -1;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static bool differ(const struct profile *profile, int one, int other)
{
    for (size_t i = 0; i < profile->samples.count; i++)
        if (profile->samples.values[one][i] != profile->samples.values[other][i])
            return true;
    return false;
}

static void dumps_choose(struct tracer *tracer, unsigned type)
{
    const struct profile *profile = tracer->profile;
    const struct profile_moment *moments = profile->moments.items;
    struct dump end = {profile->duration_ns, profile_type_named(profile, TYPE_INUSE_SPACE),
                       profile_type_named(profile, TYPE_INUSE_OBJECTS), -1, true};
    int peak = profile_type_named(profile, TYPE_PEAK_SPACE);
    tracer->total = profile_type_named(profile, TYPE_ALLOC_SPACE);
    tracer->total_objects = profile_type_named(profile, TYPE_ALLOC_OBJECTS);
    tracer->heap = "libc.malloc"; /* as Perfetto calls what malloc gave */
    if (end.bytes < 0) {          /* no heap, or of another kind: what was asked for */
        end.bytes = (int)type;
        bool counts = profile_unit(profile, profile->type[type]) == UNIT_COUNT;
        end.objects = counts ? (int)type : profile_type_partner(profile, type);
        tracer->total = tracer->total_objects = -1;
        tracer->heap = profile_text(profile, profile->type[type].name);
        peak = -1;
    }
    unsigned place = 0;
    for (size_t i = 0; i < profile->moments.count && profile->samples.history; i++)
        if (moments[i].rows && place < profile->history_moments && end.bytes >= 0) {
            if (moments[i].time_ns < profile->duration_ns)
                tracer->dumps[tracer->dumps_count++] =
                    (struct dump){moments[i].time_ns, -1, -1, (int)place, false};
            place++;
        }
    int64_t peak_ns = profile->peak_time_ns;
    if (peak >= 0 && peak_ns > 0 && (peak_ns < end.time_ns || differ(profile, peak, end.bytes))) {
        tracer->dumps[tracer->dumps_count++] =
            (struct dump){peak_ns, peak, profile_type_named(profile, TYPE_PEAK_OBJECTS), -1, false};
        end.time_ns = peak_ns < end.time_ns ? end.time_ns : peak_ns + 1; /* clocks are coarse */
    }
    tracer->dumps[tracer->dumps_count++] = end;
    qsort(tracer->dumps, tracer->dumps_count, sizeof *tracer->dumps, compare_times);
}

/* ---- the whole ---- */

static bool start(struct tracer *tracer)
{
    uint32_t depth = 0;
    if (!flat_make(&tracer->flat, tracer->profile, &(struct flat_options){.lines = true}))
        return false;
    for (size_t i = 0; i < tracer->flat.stacks_count; i++) {
        uint32_t count = flat_stack(&tracer->flat, i).count;
        depth = count > depth ? count : depth;
    }
    size_t sample = 8 * VARINT_MAX * 2, max = (size_t)(SAMPLES_MAX + 1) * sample;
    size_t stack = ((size_t)depth + 8) * VARINT_MAX * 2;
    size_t room = (stack > max ? stack : max) + TEXT_MAX;
    struct proto *messages[] = {&tracer->packet, &tracer->part, &tracer->inner, &tracer->entry};
    for (unsigned i = 0; i < 4; i++) {
        size_t size = room + (3 - i) * 256;
        tracer->buffers[i] = malloc(size);
        if (!tracer->buffers[i])
            return false;
        proto_start(messages[i], tracer->buffers[i], size);
    }
    tracer->sums = calloc(tracer->flat.stacks_count + 1, sizeof *tracer->sums);
    return tracer->sums && mappings_start(&tracer->mappings, tracer->profile);
}

static bool pftrace(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct tracer *tracer = calloc(1, sizeof *tracer);
    if (!tracer)
        return false;
    tracer->profile = profile;
    tracer->file = file;
    sink_to_function(&tracer->sink, sink_write, tracer, tracer->sink_buffer,
                     sizeof tracer->sink_buffer);
    bool done = start(tracer);
    if (done) {
        dumps_choose(tracer, options->type);
        head_put(tracer);
        counters_put(tracer);
        moments_put(tracer);
        done = frames_put(tracer);
        stacks_put(tracer);
    }
    for (unsigned i = 0; i < tracer->dumps_count && done; i++)
        done = dump_put(tracer, &tracer->dumps[i]);
    sink_flush(&tracer->sink);
    for (unsigned i = 0; i < 2; i++)
        keys_free(&tracer->texts[i]);
    keys_free(&tracer->places);
    mappings_free(&tracer->mappings);
    for (unsigned i = 0; i < 4; i++)
        free(tracer->buffers[i]);
    free(tracer->sums);
    flat_free(&tracer->flat);
    free(tracer);
    return done;
}

const struct writer writer_pftrace = {
    .word = "pftrace",
    .ending = ".pftrace",
    .brief = "for ui.perfetto.dev, as heap profiles over time",
    .values = WRITES_ALL,
    .write = pftrace,
    .binary = true,
};
