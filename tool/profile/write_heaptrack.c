/* SPDX-License-Identifier: MIT */
/*
 * heaptrack's interpreted format, for heaptrack_print and heaptrack_gui: records of a line, among
 * them one for each allocation and each free. A profile has sums, so the events are invented: first
 * what was gone before the peak, then what was there at the peak, then frees, then what was there
 * at the end. All sums are those of the profile, the peak among them.
 *
 * Objects of a sample have one size, or a byte more, so that their bytes add up. By its estimates a
 * sample may have had more live than it allocated; the difference is taken from what
 * other samples had before the peak, so that sums stay right. A free right
 * behind its allocation counts as "temporary" there; so other frees come behind a later allocation,
 * unless the two together would be a new peak. Beyond some millions of events, an event stands for
 * several objects, and only bytes are right.
 */
#include "tool/profile/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/estimate.h"
#include "tool/profile/flat.h"
#include "tool/profile/keys.h"
#include "tool/profile/line.h"

enum { EVENTS_MOST = 20000000, PAGE = 4096, NS_PER_MS = 1000000 };

/* Columns of the profile; -1: there is none. */
struct columns {
    int total, total_objects, peak, peak_objects, end, end_objects, temporary;
};

/* An object: how large it is, and the number of its record. */
struct object {
    int64_t size;
    uint32_t info; /* 0: none */
};

/* So many objects of a sample. The first few have a byte more. */
struct objects {
    int64_t count, larger, size;
    uint32_t first; /* of their records; 0: not written yet */
};

/* A sample in parts that add up: gone before the peak, at the peak and gone at the end, at both,
 * and at the end only. */
enum part { PART_BEFORE, PART_PEAK, PART_BOTH, PART_END };

struct sample {
    uint32_t trace, peak; /* the records of PART_PEAK */
};

struct heaptrack {
    const struct profile *profile;
    FILE *file;
    struct columns columns;
    uint32_t *strings;   /* by string of the profile: its number there; 0: none yet */
    uint32_t *addresses; /* by location, the same */
    uint32_t strings_count, addresses_count, infos_count;
    struct keys traces;             /* address and caller */
    struct sample *samples;         /* by sample of the profile */
    int64_t scale;                  /* objects that an event stands for */
    int64_t live, most;             /* bytes; those at the peak */
    struct object held;             /* an object that is to be freed */
    int64_t missing, missing_bytes; /* before the peak: to be taken from other samples */
    bool failed;                    /* memory is out */
};

static struct columns columns_of(const struct profile *profile, unsigned type)
{
    struct columns columns = {
        .total = profile_type_named(profile, "alloc_space"),
        .total_objects = profile_type_named(profile, "alloc_objects"),
        .peak = profile_type_named(profile, "peak_space"),
        .peak_objects = profile_type_named(profile, "peak_objects"),
        .end = profile_type_named(profile, "inuse_space"),
        .end_objects = profile_type_named(profile, "inuse_objects"),
        .temporary = profile_type_named(profile, "temp_objects"),
    };
    if (columns.end < 0 && columns.total < 0) {
        columns.end = (int)type;
        columns.end_objects = profile_type_partner(profile, type);
    }
    if (columns.peak < 0) {
        columns.peak = columns.end;
        columns.peak_objects = columns.end_objects;
    }
    return columns;
}

static int64_t value(const struct heaptrack *track, int column, size_t row)
{
    int64_t there = column < 0 ? 0 : track->profile->samples.values[column][row];
    return there > 0 ? there : 0;
}

/* ---- records that describe ---- */

static uint32_t text_record(struct heaptrack *track, const char *before, const char *text)
{
    fprintf(track->file, "s %zx %s", strlen(before) + strlen(text), before);
    line_put(text, track->file);
    putc_unlocked('\n', track->file);
    return ++track->strings_count;
}

static uint32_t string_put(struct heaptrack *track, uint32_t string)
{
    if (string != 0 && track->strings[string] == 0)
        track->strings[string] = text_record(track, "", profile_text(track->profile, string));
    return track->strings[string];
}

/* What a location without a plain name is called: the first of its functions, if any. */
static uint32_t name_put(struct heaptrack *track, const struct profile_location *location,
                         uint64_t address, uint32_t function)
{
    const struct profile *profile = track->profile;
    if (function != 0) {
        const char *name = profile_text(profile, profile_function_at(profile, function)->name);
        return text_record(track, name[0] != '~' ? "~" : "", name);
    }
    char *name = flat_unnamed(profile, location->mapping, address);
    uint32_t made = name ? text_record(track, "", name) : 0;
    track->failed = track->failed || !name;
    free(name);
    return made;
}

/* A location with its inlined functions, innermost first. Readers want the address of the call,
 * not the one behind it. */
static uint32_t address_put(struct heaptrack *track, uint32_t number)
{
    const struct profile *profile = track->profile;
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    bool behind = location->address != 0 && !(location->flags & LOCATION_EXACT);
    uint64_t address = location->address - (behind ? 1 : 0);
    uint32_t name = 0, module = profile_mapping_at(profile, location->mapping)->path;
    if (track->addresses[number] != 0)
        return track->addresses[number];
    string_put(track, module);
    if (location->lines == 0 || location->flags & LOCATION_GUESS)
        name = name_put(track, location, address, location->lines == 0 ? 0 : lines[0].function);
    for (uint32_t i = 0; i < location->lines; i++) {
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        if (name == 0)
            string_put(track, function->name);
        string_put(track, function->file);
    }
    fprintf(track->file, "i %" PRIx64 " %" PRIx32, address, track->strings[module]);
    if (location->lines == 0)
        fprintf(track->file, " %" PRIx32 " 0 0", name);
    for (uint32_t i = 0; i < location->lines; i++) {
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        fprintf(track->file, " %" PRIx32 " %" PRIx32 " %" PRIx32,
                name != 0 ? name : track->strings[function->name], track->strings[function->file],
                lines[i].line);
    }
    putc_unlocked('\n', track->file);
    return track->addresses[number] = ++track->addresses_count;
}

/* The records of a stack, root first; the number of its leaf's. */
static uint32_t trace_put(struct heaptrack *track, uint32_t stack)
{
    uint32_t count, caller = 0;
    const uint32_t *frames = profile_frames_of(track->profile, stack, &count);
    while (count-- > 0) {
        uint32_t address = address_put(track, frames[count]);
        bool fresh;
        uint32_t number = keys_add(&track->traces, (struct key){{address, caller, 0}}, &fresh);
        track->failed = track->failed || number == KEYS_NONE;
        if (track->failed)
            return 0;
        if (fresh)
            fprintf(track->file, "t %" PRIx32 " %" PRIx32 "\n", address, caller);
        caller = number + 1;
    }
    return caller;
}

/* ---- objects ---- */

/* Objects and bytes of a part; those before the peak may be below zero. */
struct amount {
    int64_t count, bytes;
};

static struct amount amount_of(const struct heaptrack *track, size_t row, enum part part)
{
    const struct columns *of = &track->columns;
    struct amount peak = {value(track, of->peak_objects, row), value(track, of->peak, row)};
    struct amount end = {value(track, of->end_objects, row), value(track, of->end, row)};
    struct amount both = {peak.count < end.count ? peak.count : end.count,
                          peak.bytes < end.bytes ? peak.bytes : end.bytes};
    if (both.count > 0 && ((peak.count == both.count && peak.bytes > both.bytes) ||
                           (end.count == both.count && end.bytes > both.bytes))) {
        both.bytes -= both.bytes / both.count; /* bytes that are left need an object */
        both.count--;
    }
    if (part == PART_PEAK)
        return (struct amount){peak.count - both.count, peak.bytes - both.bytes};
    if (part == PART_END)
        return (struct amount){end.count - both.count, end.bytes - both.bytes};
    if (part == PART_BOTH)
        return both;
    return (struct amount){value(track, of->total_objects, row) - peak.count - end.count +
                               both.count,
                           value(track, of->total, row) - peak.bytes - end.bytes + both.bytes};
}

static struct objects objects_of(const struct heaptrack *track, size_t row, enum part part)
{
    struct amount amount = amount_of(track, row, part);
    int64_t bytes = amount.bytes;
    struct objects objects = {.count = amount.count};
    if (part == PART_BEFORE && objects.count > 0 && bytes > 0) {
        int64_t most = objects.count - 1; /* as long as there are others, one stays for the bytes */
        objects.count -= track->missing < most ? track->missing : most;
        bytes -= track->missing_bytes < bytes ? track->missing_bytes : bytes;
    }
    bytes = bytes > 0 ? bytes : 0;
    objects.count = objects.count > 0 ? objects.count / track->scale : 0;
    if (objects.count == 0 && bytes > 0)
        objects.count = 1;
    if (objects.count > 0) {
        objects.size = bytes / objects.count;
        objects.larger = bytes % objects.count;
    }
    return objects;
}

/* Two records that say the same, to be used in turn, for each of the two sizes. Number 0 is of no
 * object: readers take a free of that one for a temporary, whatever was before. */
static void objects_put(struct heaptrack *track, struct objects *objects, uint32_t trace)
{
    if (objects->count == 0)
        return;
    if (track->infos_count == 0) {
        fprintf(track->file, "a 0 %" PRIx32 "\n", trace);
        track->infos_count++;
    }
    objects->first = track->infos_count;
    for (unsigned i = 0; i < (objects->larger > 0 ? 4 : 2); i++, track->infos_count++)
        fprintf(track->file, "a %" PRIx64 " %" PRIx32 "\n", (uint64_t)objects->size + i / 2, trace);
}

static struct object object_at(const struct objects *objects, int64_t number)
{
    bool larger = number < objects->larger;
    return (struct object){objects->size + larger,
                           objects->first + (larger ? 2 : 0) + (uint32_t)(number & 1)};
}

/* ---- events ---- */

static void object_alloc(struct heaptrack *track, struct object object)
{
    fprintf(track->file, "+ %" PRIx32 "\n", object.info);
    track->live += object.size;
}

static void object_free(struct heaptrack *track, struct object object)
{
    fprintf(track->file, "- %" PRIx32 "\n", object.info);
    track->live -= object.size;
}

static void held_free(struct heaptrack *track)
{
    if (track->held.info != 0)
        object_free(track, track->held);
    track->held.info = 0;
}

/* Allocated and freed: the first so many at once. */
static void objects_pass(struct heaptrack *track, const struct objects *objects, int64_t at_once)
{
    for (int64_t i = 0; i < objects->count; i++) {
        struct object object = object_at(objects, i);
        if (track->live + object.size > track->most || i < at_once)
            held_free(track);
        object_alloc(track, object);
        if (i < at_once) {
            object_free(track, object);
            continue;
        }
        held_free(track);
        track->held = object;
    }
}

static void objects_alloc(struct heaptrack *track, const struct objects *objects)
{
    for (int64_t i = 0; i < objects->count; i++) {
        struct object object = object_at(objects, i);
        if (track->live + object.size > track->most)
            held_free(track);
        object_alloc(track, object);
        held_free(track);
    }
}

static void time_put(const struct heaptrack *track, int64_t time_ns)
{
    fprintf(track->file, "c %" PRIx64 "\n", (uint64_t)(time_ns > 0 ? time_ns : 0) / NS_PER_MS);
}

static bool before_put(struct heaptrack *track)
{
    const struct profile_samples *samples = &track->profile->samples;
    for (size_t i = 0; i < samples->count && !track->failed; i++) {
        struct amount amount = amount_of(track, i, PART_BEFORE);
        struct objects objects = objects_of(track, i, PART_BEFORE);
        if (amount.count > 0 && amount.bytes > 0) {
            track->missing -= amount.count - objects.count * track->scale;
            track->missing_bytes -= amount.bytes - objects.size * objects.count - objects.larger;
        }
        track->samples[i].trace = trace_put(track, samples->stacks[i]);
        objects_put(track, &objects, track->samples[i].trace);
        objects_pass(track, &objects, value(track, track->columns.temporary, i) / track->scale);
    }
    return !track->failed;
}

static void peak_put(struct heaptrack *track)
{
    for (size_t i = 0; i < track->profile->samples.count; i++) {
        struct objects peak = objects_of(track, i, PART_PEAK);
        objects_put(track, &peak, track->samples[i].trace);
        objects_alloc(track, &peak);
        track->samples[i].peak = peak.first;
    }
    for (size_t i = 0; i < track->profile->samples.count; i++) {
        struct objects both = objects_of(track, i, PART_BOTH);
        objects_put(track, &both, track->samples[i].trace);
        objects_alloc(track, &both);
    }
}

static void end_put(struct heaptrack *track)
{
    size_t count = track->profile->samples.count;
    held_free(track);
    for (size_t i = 0; i < count; i++) {
        struct objects peak = objects_of(track, i, PART_PEAK);
        peak.first = track->samples[i].peak;
        for (int64_t k = 0; k < peak.count; k++)
            object_free(track, object_at(&peak, k));
    }
    for (size_t i = 0; i < count; i++) {
        struct objects end = objects_of(track, i, PART_END);
        objects_put(track, &end, track->samples[i].trace);
        objects_alloc(track, &end);
    }
}

/* ---- the whole ---- */

static void head_put(struct heaptrack *track)
{
    const struct profile *profile = track->profile;
    fputs("v 10400 3\nX ", track->file);
    char *command = estimate_command(profile);
    line_put(command ? command : "", track->file);
    free(command);
    fprintf(track->file, "\nI %x 0\n", PAGE);
    string_put(track, profile->program); /* readers take the first for the program */
}

static uint64_t resident_most(const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    uint64_t most = profile->resident_bytes;
    if (profile->resident_peak_bytes > most)
        most = profile->resident_peak_bytes;
    for (size_t i = 0; i < profile->points.count; i++)
        most = points[i].resident_bytes > most ? points[i].resident_bytes : most;
    return most;
}

static bool start(struct heaptrack *track)
{
    const struct profile *profile = track->profile;
    int64_t objects = 0;
    track->scale = 1;
    for (size_t i = 0; i < profile->samples.count; i++) {
        for (enum part part = PART_BEFORE; part <= PART_END; part++)
            objects += objects_of(track, i, part).count;
        track->most += value(track, track->columns.peak, i);
    }
    for (size_t i = 0; i < profile->samples.count; i++) {
        struct amount before = amount_of(track, i, PART_BEFORE);
        /* Bytes need an object, and no count is below zero. */
        int64_t least = before.bytes > 0 ? 1 : 0;
        track->missing += before.count < least ? least - before.count : 0;
        track->missing_bytes -= before.bytes < 0 ? before.bytes : 0;
    }
    track->scale = objects / EVENTS_MOST + 1;
    track->strings = calloc(profile->strings.count + 1, sizeof *track->strings);
    track->addresses = calloc(profile->locations.count + 1, sizeof *track->addresses);
    track->samples = calloc(profile->samples.count + 1, sizeof *track->samples);
    return track->strings && track->addresses && track->samples;
}

static bool heaptrack(const struct profile *profile, const struct write_options *options,
                      FILE *file)
{
    struct heaptrack track = {.profile = profile, .file = file};
    int64_t peak_ns = profile->peak_time_ns;
    track.columns = columns_of(profile, options->type);
    bool done = start(&track);
    if (done) {
        head_put(&track);
        done = before_put(&track);
    }
    if (done) {
        peak_put(&track);
        time_put(&track, peak_ns > 0 ? peak_ns : profile->duration_ns);
        fprintf(file, "R %" PRIx64 "\n", resident_most(profile) / PAGE);
        end_put(&track);
        time_put(&track, profile->duration_ns > peak_ns ? profile->duration_ns : peak_ns);
    }
    keys_free(&track.traces);
    free(track.strings);
    free(track.addresses);
    free(track.samples);
    return done;
}

const struct writer writer_heaptrack = {
    "heaptrack", ".heaptrack", "for heaptrack_print and heaptrack_gui",
    WRITES_ALL,  heaptrack,    false};
