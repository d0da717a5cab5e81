/* SPDX-License-Identifier: MIT */
/*
 * profile.proto of pprof, in gzip: the one format that takes nearly all of a profile. Only what
 * samples refer to is written, but for mappings. The main program's mapping comes first, because
 * readers take the first one for it.
 *
 * The ids of mappings, functions and locations are our own numbers, which only must not be 0.
 * Strings get new numbers as they are used: what nothing refers to must not leave in the file. A
 * name that is only a guess is another function there, with ~ before its name.
 */
#include "tool/profile/write/write.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file/proto.h"
#include "tool/profile/write/line.h"

enum {
    SINK_BYTES = 1 << 16,
    GZIP_BITS = 15 + 16,
    SAMPLE_TYPE = 1,
    SAMPLE = 2,
    MAPPING = 3,
    LOCATION = 4,
    FUNCTION = 5,
    STRING_TABLE = 6,
    FIELDS_MAX = 8, /* numbers in a message of fixed size */
};

enum { HAS_FUNCTIONS = 1, HAS_FILES = 2, HAS_LINES = 4, HAS_INLINES = 8 };

struct text {
    uint32_t string;
    bool guess;
};

struct packer {
    const struct profile *profile;
    struct sink sink;
    char sink_buffer[SINK_BYTES];
    FILE *file;
    z_stream stream;
    unsigned char packed[SINK_BYTES];
    struct proto message, inner;
    void *message_buffer, *inner_buffer;
    uint64_t *numbers;    /* room for the frames of the longest stack */
    char *wanted;         /* by location: a sample has it */
    char *functions;      /* by function: 1: plainly, 2: as a guess */
    char *mappings;       /* by mapping: what its locations have, HAS_... */
    uint32_t *texts[2];   /* by string: its number in the file, plain and as a guess; 0: none yet */
    struct text *strings; /* in the order of the file */
    size_t strings_count;
};

static int deflate_out(struct packer *packer, int flush)
{
    do {
        packer->stream.next_out = packer->packed;
        packer->stream.avail_out = sizeof packer->packed;
        if (deflate(&packer->stream, flush) == Z_STREAM_ERROR)
            return 1;
        fwrite(packer->packed, 1, sizeof packer->packed - packer->stream.avail_out, packer->file);
    } while (packer->stream.avail_out == 0);
    return 0;
}

static int deflate_bytes(void *context, const void *bytes, size_t length)
{
    struct packer *packer = context;
    packer->stream.next_in = (unsigned char *)(uintptr_t)bytes;
    packer->stream.avail_in = (unsigned)length;
    return deflate_out(packer, Z_NO_FLUSH);
}

/* Readers look for names themselves where a mapping is not said to have some. */
static void mark_location(struct packer *packer, uint32_t number)
{
    const struct profile *profile = packer->profile;
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    char *has = &packer->mappings[location->mapping];
    for (uint32_t i = 0; i < location->lines; i++) {
        packer->functions[lines[i].function] |= location->flags & LOCATION_GUESS ? 2 : 1;
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        *has |= (char)((function->name != 0 ? HAS_FUNCTIONS : 0) |
                       (function->file != 0 ? HAS_FILES : 0) |
                       (lines[i].line != 0 ? HAS_LINES : 0) | (i > 0 ? HAS_INLINES : 0));
    }
}

/* Marks what samples refer to, and makes room for the largest message. */
static bool prepare(struct packer *packer)
{
    const struct profile *profile = packer->profile;
    size_t max = PROFILE_TYPES_MAX, lines = 0, labels = 0;
    packer->wanted = calloc(profile->locations.count + 1, 1);
    packer->functions = calloc(profile->functions.count + 1, 1);
    packer->mappings = calloc(profile->mappings.count + 1, 1);
    packer->texts[0] = calloc(profile->strings.count + 1, sizeof *packer->texts[0]);
    packer->texts[1] = calloc(profile->strings.count + 1, sizeof *packer->texts[1]);
    packer->strings = calloc(2 * profile->strings.count + 1, sizeof *packer->strings);
    if (!packer->wanted || !packer->functions || !packer->mappings || !packer->texts[0] ||
        !packer->texts[1] || !packer->strings)
        return false;
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t count;
        const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[i], &count);
        const struct profile_label_set *set =
            (const struct profile_label_set *)profile->label_sets.items +
            profile->samples.label_sets[i];
        for (uint32_t k = 0; k < count; k++)
            packer->wanted[frames[k]] = 1;
        max = count > max ? count : max;
        labels = set->count > labels ? set->count : labels;
    }
    for (uint32_t i = 0; i < profile->locations.count; i++) {
        const struct profile_location *location = profile_location_at(profile, i);
        if (!packer->wanted[i])
            continue;
        mark_location(packer, i);
        lines = location->lines > lines ? location->lines : lines;
    }
    size_t part = FIELDS_MAX * 2 * VARINT_MAX, parts = (lines > labels ? lines : labels) + 2;
    size_t size = part * parts + 2 * VARINT_MAX * (max + PROFILE_TYPES_MAX);
    packer->strings_count = 1; /* the empty one */
    packer->message_buffer = malloc(size);
    packer->inner_buffer = malloc(part);
    packer->numbers = malloc(max * sizeof *packer->numbers);
    if (!packer->message_buffer || !packer->inner_buffer || !packer->numbers)
        return false;
    proto_start(&packer->message, packer->message_buffer, size);
    proto_start(&packer->inner, packer->inner_buffer, part);
    return true;
}

static void inner_end(struct packer *packer, unsigned field)
{
    proto_message(&packer->message, field, &packer->inner);
    packer->inner.used = 0;
}

/* The number of a string in the file. */
static uint64_t text(struct packer *packer, uint32_t string, bool guess)
{
    uint32_t *number = &packer->texts[guess][string];
    if (string == 0)
        return 0;
    if (*number == 0) {
        packer->strings[packer->strings_count] = (struct text){string, guess};
        *number = (uint32_t)packer->strings_count++;
    }
    return *number;
}

static void put_text(struct packer *packer, unsigned field, uint32_t string)
{
    proto_number(&packer->message, field, text(packer, string, false));
}

static void put_type(struct packer *packer, struct profile_type type, unsigned field)
{
    put_text(packer, 1, type.name);
    put_text(packer, 2, type.unit);
    proto_send(&packer->message, &packer->sink, field);
}

static void put_sample(struct packer *packer, size_t sample)
{
    const struct profile *profile = packer->profile;
    const struct profile_samples *samples = &profile->samples;
    uint32_t count;
    const uint32_t *frames = profile_frames_of(profile, samples->stacks[sample], &count);
    for (uint32_t i = 0; i < count; i++)
        packer->numbers[i] = frames[i] + UINT64_C(1);
    proto_packed(&packer->message, 1, packer->numbers, count);
    for (unsigned i = 0; i < profile->types; i++)
        packer->numbers[i] = (uint64_t)samples->values[i][sample];
    proto_packed(&packer->message, 2, packer->numbers, profile->types);
    const struct profile_label_set *set =
        (const struct profile_label_set *)profile->label_sets.items + samples->label_sets[sample];
    const struct profile_label *labels =
        (const struct profile_label *)profile->labels.items + set->first;
    for (uint32_t i = 0; i < set->count; i++) {
        proto_number(&packer->inner, 1, text(packer, labels[i].key, false));
        proto_number(&packer->inner, 2, text(packer, labels[i].text, false));
        if (labels[i].text == 0) {
            proto_number(&packer->inner, 3, (uint64_t)labels[i].number);
            proto_number(&packer->inner, 4, text(packer, labels[i].unit, false));
        }
        inner_end(packer, 3);
    }
    proto_send(&packer->message, &packer->sink, SAMPLE);
}

static void put_mapping(struct packer *packer, uint32_t number)
{
    const struct profile_mapping *mapping = profile_mapping_at(packer->profile, number);
    const char has = packer->mappings[number];
    const uint64_t fields[] = {
        number,
        mapping->start,
        mapping->limit,
        mapping->offset,
        text(packer, mapping->path, false),
        text(packer, mapping->build_id, false),
        mapping->has_functions || has & HAS_FUNCTIONS,
        mapping->has_files || has & HAS_FILES,
        mapping->has_lines || has & HAS_LINES,
        mapping->has_inlines || has & HAS_INLINES,
    };
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        proto_number(&packer->message, i + 1, fields[i]);
    proto_send(&packer->message, &packer->sink, MAPPING);
}

static void put_mappings(struct packer *packer)
{
    const struct profile *profile = packer->profile;
    uint32_t first = 0;
    for (uint32_t i = 1; i < profile->mappings.count && first == 0; i++)
        if (profile->program != 0 && profile_mapping_at(profile, i)->path == profile->program)
            first = i;
    if (first != 0)
        put_mapping(packer, first);
    for (uint32_t i = 1; i < profile->mappings.count; i++)
        if (i != first)
            put_mapping(packer, i);
}

static void put_location(struct packer *packer, uint32_t number)
{
    const struct profile *profile = packer->profile;
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    size_t guess = location->flags & LOCATION_GUESS ? profile->functions.count : 0;
    /* Readers look at the very address, so that of a caller must be in the call. */
    bool behind = location->address != 0 && !(location->flags & LOCATION_EXACT);
    proto_number(&packer->message, 1, number + UINT64_C(1));
    proto_number(&packer->message, 2, location->mapping);
    proto_number(&packer->message, 3, location->address - (behind ? 1 : 0));
    for (uint32_t i = 0; i < location->lines; i++) {
        if (lines[i].function == 0)
            continue;
        proto_number(&packer->inner, 1, lines[i].function + guess);
        proto_number(&packer->inner, 2, lines[i].line);
        proto_number(&packer->inner, 3, lines[i].column);
        inner_end(packer, 4);
    }
    proto_number(&packer->message, 5, location->flags & LOCATION_FOLDED ? 1 : 0);
    proto_send(&packer->message, &packer->sink, LOCATION);
}

static void put_function(struct packer *packer, uint32_t number)
{
    const struct profile_function *function = profile_function_at(packer->profile, number);
    const uint64_t plain = packer->profile->functions.count;
    for (unsigned guess = 0; guess < 2; guess++) {
        if (!(packer->functions[number] & (guess ? 2 : 1)))
            continue;
        proto_number(&packer->message, 1, number + (guess ? plain : 0));
        proto_number(&packer->message, 2, text(packer, function->name, guess));
        put_text(packer, 3, function->system_name);
        put_text(packer, 4, function->file);
        proto_number(&packer->message, 5, function->start_line);
        proto_send(&packer->message, &packer->sink, FUNCTION);
    }
}

/* Last of all: by then every string has its number. */
static bool put_strings(struct packer *packer)
{
    bool done = true;
    for (size_t i = 0; i < packer->strings_count && done; i++) {
        const char *plain = profile_text(packer->profile, packer->strings[i].string);
        bool tilde = packer->strings[i].guess && plain[0] != '~';
        char *copy = NULL;
        if (tilde || !line_is_plain(plain)) {
            done = asprintf(&copy, "%s%s", tilde ? "~" : "", plain) >= 0;
            if (done)
                line_mend(copy); /* readers may refuse all of it for one such text */
        }
        const char *name = done && copy ? copy : plain;
        proto_send_text(&packer->sink, STRING_TABLE, name, strlen(name));
        free(done ? copy : NULL);
    }
    return done;
}

static bool put_all(struct packer *packer)
{
    const struct profile *profile = packer->profile;
    for (unsigned i = 0; i < profile->types; i++)
        put_type(packer, profile->type[i], SAMPLE_TYPE);
    for (size_t i = 0; i < profile->samples.count; i++)
        put_sample(packer, i);
    put_mappings(packer);
    for (uint32_t i = 0; i < profile->locations.count; i++)
        if (packer->wanted[i])
            put_location(packer, i);
    for (uint32_t i = 1; i < profile->functions.count; i++)
        put_function(packer, i);
    put_text(packer, 7, profile->drop_frames);
    put_text(packer, 8, profile->keep_frames);
    proto_number(&packer->message, 9, (uint64_t)profile->time_ns);
    proto_number(&packer->message, 10, (uint64_t)profile->duration_ns);
    proto_send(&packer->message, &packer->sink, 0);
    if (profile->period_type.name != 0)
        put_type(packer, profile->period_type, 11);
    proto_number(&packer->message, 12, (uint64_t)profile->period);
    for (size_t i = 0; i < profile->comments.count; i++) {
        proto_send(&packer->message, &packer->sink, 0);
        put_text(packer, 13, ((const uint32_t *)profile->comments.items)[i]);
    }
    if (profile->default_type < profile->types)
        put_text(packer, 14, profile->type[profile->default_type].name);
    put_text(packer, 15, profile->doc_url);
    proto_send(&packer->message, &packer->sink, 0);
    return put_strings(packer) && sink_flush(&packer->sink) == 0;
}

static bool pprof(const struct profile *profile, const struct write_options *options, FILE *file)
{
    (void)options;
    struct packer *packer = calloc(1, sizeof *packer);
    if (!packer)
        return false;
    packer->profile = profile;
    packer->file = file;
    sink_to_function(&packer->sink, deflate_bytes, packer, packer->sink_buffer,
                     sizeof packer->sink_buffer);
    bool done = deflateInit2(&packer->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK;
    if (done) {
        done = prepare(packer) && put_all(packer) && deflate_out(packer, Z_FINISH) == 0;
        deflateEnd(&packer->stream);
    }
    free(packer->message_buffer);
    free(packer->inner_buffer);
    free(packer->numbers);
    free(packer->texts[0]);
    free(packer->texts[1]);
    free(packer->strings);
    free(packer->wanted);
    free(packer->functions);
    free(packer->mappings);
    free(packer);
    return done;
}

const struct writer writer_pprof = {
    .word = "pprof",
    .ending = ".pb.gz",
    .brief = "pprof's format, with all values",
    .values = WRITES_ALL,
    .write = pprof,
    .binary = true,
    .packed = true,
};
