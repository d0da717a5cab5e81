/* SPDX-License-Identifier: MIT */
/*
 * heaptrack's interpreted format, for heaptrack_print and heaptrack_gui: records of a line, among
 * them one for each allocation and each free. A profile has sums, so the events are invented: first
 * what was gone before the peak, then what was there at the peak, then frees, then what was there
 * at the end. All sums are those of the profile, the peak among them.
 *
 * Objects of a sample have one size, or a byte more, so that their bytes add up. Where a sample has
 * blocks of several sizes, its estimates may want bytes without an object, say if one object was
 * live both at the peak and at the end, with fewer bytes: other such samples get these bytes. A
 * sample of another tool may have had more live than it allocated; the difference is taken from
 * what other samples had before the peak, so that sums stay right. Readers take a block for
 * temporary if its free is right behind its allocation, so that is the place of frees of temporary
 * blocks (tool/profile/temporary.h); others come behind a later allocation, unless the two together
 * would be a new peak. Beyond some millions of events, an event stands for several objects, and
 * only bytes are right.
 */
#include "tool/profile/write/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/profile/profile.h"
#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"
#include "tool/terminal/terminal.h"

/* Events are made up for all blocks: beyond 20 million, one stands for several. */
enum { EVENTS_MAX = 20000000, PAGE = 4096, NS_PER_MS = 1000000 };

/* Columns of the profile; -1: there is none. */
struct columns {
    int total, total_objects, peak, peak_objects, end, end_objects, temporary;
};

/* An object: how large it is, and the number of its record. */
struct object {
    int64_t size;
    uint32_t info; /* 0: none */
};

/* The `count` objects of a sample, of `size` bytes; the first `larger` of them have one more. */
struct objects {
    int64_t count, larger, size;
    uint32_t first; /* of their records; 0: not written yet */
};

/* A sample in parts that add up: gone before the peak, at the peak and gone at the end, at both,
 * and at the end only. */
enum part { PART_BEFORE, PART_PEAK, PART_BOTH, PART_END, PARTS };

/* Objects and bytes of a part; those before the peak may be below zero. */
struct amount {
    int64_t count, bytes;
};

struct sample {
    struct amount parts[PARTS];
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
    int64_t live, max;              /* bytes; those at the peak */
    struct object held;             /* an object that is to be freed */
    int64_t missing, missing_bytes; /* before the peak: to be taken from other samples */
    bool failed;                    /* memory is out */
};

static struct columns columns_of(const struct profile *profile, unsigned type)
{
    struct columns columns = {
        .total = profile_type_named(profile, TYPE_ALLOC_SPACE),
        .total_objects = profile_type_named(profile, TYPE_ALLOC_OBJECTS),
        .peak = profile_type_named(profile, TYPE_PEAK_SPACE),
        .peak_objects = profile_type_named(profile, TYPE_PEAK_OBJECTS),
        .end = profile_type_named(profile, TYPE_INUSE_SPACE),
        .end_objects = profile_type_named(profile, TYPE_INUSE_OBJECTS),
        .temporary = profile_type_named(profile, TYPE_TEMP_OBJECTS),
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

/* Bytes that samples should have had and could not: for lack of an object. */
struct carry {
    int64_t total, peak, end;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t never_below_0(int64_t value)
{
    return value > 0 ? value : 0;
}

/* Counts. An object of PART_BOTH has the same bytes at the peak and at the end; if there is no
 * other object for the difference, it is two objects, as long as the total allows that. */
static void parts_count(const struct heaptrack *track, size_t row, struct amount parts[PARTS])
{
    const struct columns *of = &track->columns;
    int64_t peak = value(track, of->peak_objects, row), end = value(track, of->end_objects, row);
    int64_t both = smaller(peak, end), before = value(track, of->total_objects, row) - peak - end;
    int64_t peak_bytes = value(track, of->peak, row), end_bytes = value(track, of->end, row);
    bool lacks =
        (peak_bytes > end_bytes && peak == both) || (end_bytes > peak_bytes && end == both);
    if (both > 0 && lacks && before + both > 0)
        both--;
    parts[PART_BOTH].count = both;
    parts[PART_PEAK].count = peak - both;
    parts[PART_END].count = end - both;
    parts[PART_BEFORE].count = before + both;
}

/* What objects that were there at the peak and at the end have in bytes. */
static int64_t both_bytes(const struct amount parts[PARTS], int64_t peak, int64_t end)
{
    int64_t count = parts[PART_BOTH].count;
    if (count == 0)
        return 0;
    if (parts[PART_PEAK].count == 0)
        return never_below_0(peak);
    if (parts[PART_END].count == 0)
        return never_below_0(end);
    return never_below_0(smaller(peak, end)) / (count + 1) * count;
}

static int64_t bytes_for(int64_t count, int64_t bytes)
{
    return count > 0 ? never_below_0(bytes) : 0;
}

/* Bytes, for the counts; what is left is carried to the next sample. */
static void parts_fill(const struct heaptrack *track, size_t row, struct amount parts[PARTS],
                       struct carry *carry)
{
    const struct columns *of = &track->columns;
    carry->peak += value(track, of->peak, row);
    carry->end += value(track, of->end, row);
    carry->total += value(track, of->total, row);
    int64_t both = both_bytes(parts, carry->peak, carry->end);
    int64_t peak = bytes_for(parts[PART_PEAK].count, carry->peak - both);
    int64_t end = bytes_for(parts[PART_END].count, carry->end - both);
    int64_t before = bytes_for(parts[PART_BEFORE].count, carry->total - both - peak - end);
    parts[PART_BOTH].bytes = both;
    parts[PART_PEAK].bytes = peak;
    parts[PART_END].bytes = end;
    parts[PART_BEFORE].bytes = before;
    carry->peak -= both + peak;
    carry->end -= both + end;
    carry->total -= both + peak + end + before;
}

/* Moves at most `bytes` from one part of a sample to another; below 0: the other way. */
static int64_t parts_shift(struct amount parts[PARTS], enum part from, enum part to, int64_t bytes)
{
    if (parts[from].count <= 0 || parts[to].count <= 0)
        return 0;
    bytes = smaller(bytes, parts[from].bytes);
    bytes = bytes < -parts[to].bytes ? -parts[to].bytes : bytes;
    parts[from].bytes -= bytes;
    parts[to].bytes += bytes;
    return bytes;
}

/* What a part can have of `bytes`, which may be below 0. */
static int64_t part_more(struct amount *part, int64_t bytes)
{
    int64_t more = part->count > 0 ? bytes : 0;
    more = more < -part->bytes ? -part->bytes : more;
    part->bytes += more;
    return more;
}

/* What is still carried behind the last sample is for those with objects for it. */
static void parts_more(struct amount parts[PARTS], struct carry *carry)
{
    carry->end -= parts_shift(parts, PART_PEAK, PART_BOTH, carry->end);
    carry->peak -= parts_shift(parts, PART_END, PART_BOTH, carry->peak);
    int64_t peak = part_more(&parts[PART_PEAK], carry->peak);
    int64_t end = part_more(&parts[PART_END], carry->end);
    carry->peak -= peak;
    carry->end -= end;
    carry->total -= peak + end;
    carry->total -= part_more(&parts[PART_BEFORE], carry->total);
}

/* Without counts of objects, or with one size of block, nothing is carried. */
static void parts_take(const struct heaptrack *track, size_t row, struct amount parts[PARTS])
{
    const struct columns *of = &track->columns;
    int64_t peak = value(track, of->peak, row), end = value(track, of->end, row);
    int64_t both = smaller(peak, end);
    if (parts[PART_PEAK].count > 0 && parts[PART_END].count > 0)
        both = both_bytes(parts, peak, end);
    parts[PART_BOTH].bytes = both;
    parts[PART_PEAK].bytes = peak - both;
    parts[PART_END].bytes = end - both;
    parts[PART_BEFORE].bytes = value(track, of->total, row) - peak - end + both;
}

static void carry_place(struct heaptrack *track, struct carry *carry)
{
    for (size_t i = 0; i < track->profile->samples.count; i++)
        parts_more(track->samples[i].parts, carry);
}

/* Bytes of the total, but no objects before the peak: what was there both times in one sample
 * becomes peak there, and end in another sample. */
static void carry_loosen(struct heaptrack *track, struct carry *carry)
{
    size_t count = track->profile->samples.count;
    int64_t loose = 0;
    for (size_t i = 0; i < count; i++)
        loose += parts_shift(track->samples[i].parts, PART_BOTH, PART_PEAK, carry->total - loose);
    for (size_t i = 0; i < count; i++) {
        int64_t more = part_more(&track->samples[i].parts[PART_END], loose);
        carry->total -= more;
        loose -= more;
    }
    carry->end += loose;
    carry_place(track, carry);
}

static void parts_make(struct heaptrack *track)
{
    const struct profile *profile = track->profile;
    bool counted = track->columns.total_objects >= 0;
    struct carry carry = {0};
    for (size_t i = 0; i < profile->samples.count; i++) {
        struct amount *parts = track->samples[i].parts;
        uint32_t set = profile->samples.label_sets[i];
        parts_count(track, i, parts);
        if (counted && !profile_label_of(profile, set, LABEL_BLOCK_BYTES) &&
            parts[PART_BEFORE].count >= 0)
            parts_fill(track, i, parts, &carry);
        else
            parts_take(track, i, parts);
    }
    carry_place(track, &carry);
    if (carry.total > 0)
        carry_loosen(track, &carry);
}

static struct objects objects_of(const struct heaptrack *track, size_t row, enum part part)
{
    struct amount amount = track->samples[row].parts[part];
    int64_t bytes = amount.bytes;
    struct objects objects = {.count = amount.count};
    if (part == PART_BEFORE && objects.count > 0 && bytes > 0) {
        int64_t max = objects.count - 1; /* as long as there are others, one stays for the bytes */
        objects.count -= track->missing < max ? track->missing : max;
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

/* Allocated and freed: the first `at_once` together. */
static void objects_pass(struct heaptrack *track, const struct objects *objects, int64_t at_once)
{
    for (int64_t i = 0; i < objects->count; i++) {
        struct object object = object_at(objects, i);
        if (track->live + object.size > track->max || i < at_once)
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
        if (track->live + object.size > track->max)
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
    unsigned classes = temporary_classes(track->profile);
    for (size_t i = 0; i < samples->count && !track->failed; i++) {
        struct amount amount = track->samples[i].parts[PART_BEFORE];
        struct objects objects = objects_of(track, i, PART_BEFORE);
        if (amount.count > 0 && amount.bytes > 0) {
            track->missing -= amount.count - objects.count * track->scale;
            track->missing_bytes -= amount.bytes - objects.size * objects.count - objects.larger;
        }
        track->samples[i].trace = trace_put(track, samples->stacks[i]);
        objects_put(track, &objects, track->samples[i].trace);
        int64_t temporary = track->columns.temporary >= 0
                                ? value(track, track->columns.temporary, i)
                                : temporary_blocks(track->profile, i, classes);
        objects_pass(track, &objects, temporary / track->scale);
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

static uint64_t resident_max(const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    uint64_t max = profile->resident_bytes;
    if (profile->resident_peak_bytes > max)
        max = profile->resident_peak_bytes;
    for (size_t i = 0; i < profile->points.count; i++)
        max = points[i].resident_bytes > max ? points[i].resident_bytes : max;
    return max;
}

static bool start(struct heaptrack *track)
{
    const struct profile *profile = track->profile;
    int64_t objects = 0;
    track->scale = 1;
    track->strings = calloc(profile->strings.count + 1, sizeof *track->strings);
    track->addresses = calloc(profile->locations.count + 1, sizeof *track->addresses);
    track->samples = calloc(profile->samples.count + 1, sizeof *track->samples);
    if (!track->strings || !track->addresses || !track->samples)
        return false;
    parts_make(track);
    for (size_t i = 0; i < profile->samples.count; i++) {
        for (enum part part = PART_BEFORE; part <= PART_END; part++)
            objects += objects_of(track, i, part).count;
        track->max += value(track, track->columns.peak, i);
    }
    for (size_t i = 0; i < profile->samples.count; i++) {
        struct amount before = track->samples[i].parts[PART_BEFORE];
        /* Bytes need an object, and no count is below zero. */
        int64_t min = before.bytes > 0 ? 1 : 0;
        track->missing += before.count < min ? min - before.count : 0;
        track->missing_bytes -= before.bytes < 0 ? before.bytes : 0;
    }
    track->scale = objects / EVENTS_MAX + 1;
    return true;
}

static bool heaptrack(const struct profile *profile, const struct write_options *options,
                      FILE *file)
{
    struct heaptrack track = {.profile = profile, .file = file};
    int64_t peak_ns = profile->peak_time_ns;
    track.columns = columns_of(profile, options->type);
    bool done = start(&track);
    if (done) {
        if (track.scale > 1)
            terminal_warn("heaptrack has an event for each call, and the file %" PRId64
                          " calls in one: bytes are right, numbers of calls are not",
                          track.scale);
        head_put(&track);
        done = before_put(&track);
    }
    if (done) {
        peak_put(&track);
        time_put(&track, peak_ns > 0 ? peak_ns : profile->duration_ns);
        fprintf(file, "R %" PRIx64 "\n", resident_max(profile) / PAGE);
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
    .word = "heaptrack",
    .ending = ".heaptrack",
    .brief = "for heaptrack_print and heaptrack_gui",
    .values = WRITES_ALL,
    .write = heaptrack,
};
