/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto. Messages name each other by numbers, and those that are named may come
 * later in the file, so it is gone through three times: the strings, then what locations are made
 * of, then the samples. The third time gives the pages back behind itself: a profile may have
 * millions of samples, and should not be in memory twice.
 *
 * Addresses in these files lie in the call already. Numbers are estimates and final; how many
 * objects one that was recorded stands for follows from the period and the mean size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

/* Bytes that were read go back to the kernel 4 MiB at a time: one call for some 1,000 pages. */
enum { FIELDS = 16, RELEASE_BYTES = 4 << 20 };

/* Of struct Profile in profile.proto. */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE,
    MAPPING,
    LOCATION,
    FUNCTION,
    STRING,
    DROP_FRAMES,
    KEEP_FRAMES,
    TIME,
    DURATION,
    PERIOD_TYPE,
    PERIOD,
    COMMENT,
    DEFAULT_TYPE,
    DOC_URL,
};

struct reading {
    const struct read_input *input;
    struct profile *profile;
    struct read_error *error;
    uint32_t *strings; /* ours, by the file's number */
    size_t string_count, string_room, samples;
    struct ids mappings, functions, locations;
    unsigned types;   /* of the file */
    unsigned columns; /* that we keep of them */
    uint64_t default_type;
    struct text_stack stack;
    struct list lines;
    bool labels_lost;
};

static bool refuse_at(struct reading *it, const uint8_t *at, const char *reason)
{
    return read_refuse(it->error, (uint64_t)((const char *)at - it->input->bytes), "%s", reason);
}

static bool refuse_id(struct reading *it, const struct wire *at, const char *what, uint64_t id)
{
    return read_refuse(it->error, (uint64_t)((const char *)at->at - it->input->bytes),
                       "there is no %s with id %llu", what, (unsigned long long)id);
}

/* A message of numbers: they come by field. Bits of `inner` are fields that are no numbers. */
static bool take_numbers(struct reading *it, struct wire message, uint64_t numbers[FIELDS],
                         unsigned inner)
{
    struct wire_field field;
    memset(numbers, 0, FIELDS * sizeof *numbers);
    while (wire_next(&message, &field)) {
        if (field.number >= FIELDS)
            continue;
        if (field.type != ((inner >> field.number & 1) != 0 ? WIRE_BYTES : WIRE_NUMBER))
            return refuse_at(it, message.at, "a field has the wrong type");
        numbers[field.number] = field.value;
    }
    return message.bad ? refuse_at(it, message.at, message.bad) : true;
}

static bool take_string(struct reading *it, const struct wire *at, uint64_t number,
                        uint32_t *string)
{
    if (number >= it->string_count && number > 0)
        return refuse_id(it, at, "string", number);
    *string = number == 0 ? 0 : it->strings[number];
    return true;
}

static bool read_type(struct reading *it, struct wire message, struct profile_type *type)
{
    uint64_t numbers[FIELDS];
    return take_numbers(it, message, numbers, 0) &&
           take_string(it, &message, numbers[1], &type->name) &&
           take_string(it, &message, numbers[2], &type->unit);
}

static bool read_sample_type(struct reading *it, struct wire message)
{
    struct profile *profile = it->profile;
    struct profile_type type = {0, 0};
    char name[256];
    if (!read_type(it, message, &type))
        return false;
    if (it->types++ >= PROFILE_TYPES_MAX) {
        profile_warn(profile, "only the first %d value types are shown", PROFILE_TYPES_MAX);
        return true;
    }
    snprintf(name, sizeof name, "%s", profile_text(profile, type.name));
    for (unsigned i = it->types; profile_type_named(profile, name) >= 0; i++)
        snprintf(name, sizeof name, "%.200s (%u)", profile_text(profile, type.name), i);
    char *unit = strdup(profile_text(profile, type.unit)); /* the texts move when one is added */
    if (unit)
        profile_type_written(profile, name, unit);
    profile->failed |= unit == NULL;
    free(unit);
    it->columns++;
    return !profile->failed;
}

static uint32_t build_id(struct profile *profile, uint32_t string)
{
    char id[256];
    const char *text = profile_text(profile, string);
    size_t length = strlen(text);
    if (length >= sizeof id || strspn(text, "0123456789abcdefABCDEF") != length)
        return string;
    for (size_t i = 0; i < length; i++)
        id[i] = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] | 0x20) : text[i];
    return profile_string(profile, id, length);
}

static bool add_id(struct reading *it, struct wire at, struct ids *ids, uint64_t id,
                   uint32_t number)
{
    if (id == 0)
        return refuse_at(it, at.at, "id 0 is reserved");
    it->profile->failed |= !ids_add(ids, id, number);
    return !it->profile->failed;
}

static bool read_mapping(struct reading *it, struct wire message)
{
    uint64_t numbers[FIELDS];
    struct profile_mapping mapping = {0};
    if (!take_numbers(it, message, numbers, 0) ||
        !take_string(it, &message, numbers[5], &mapping.path) ||
        !take_string(it, &message, numbers[6], &mapping.build_id))
        return false;
    mapping.start = numbers[2];
    mapping.limit = numbers[3];
    mapping.offset = numbers[4];
    mapping.build_id = build_id(it->profile, mapping.build_id);
    mapping.has_functions = numbers[7] != 0;
    mapping.has_files = numbers[8] != 0;
    mapping.has_lines = numbers[9] != 0;
    mapping.has_inlines = numbers[10] != 0;
    if (it->mappings.count == 0)
        it->profile->program = mapping.path;
    return add_id(it, message, &it->mappings, numbers[1], profile_mapping(it->profile, &mapping));
}

static bool read_function(struct reading *it, struct wire message)
{
    uint64_t numbers[FIELDS];
    struct profile_function function = {0};
    if (!take_numbers(it, message, numbers, 0) ||
        !take_string(it, &message, numbers[2], &function.name) ||
        !take_string(it, &message, numbers[3], &function.system_name) ||
        !take_string(it, &message, numbers[4], &function.file))
        return false;
    if (function.name == 0)
        function.name = function.system_name;
    function.start_line = numbers[5] > UINT32_MAX ? 0 : (uint32_t)numbers[5];
    return add_id(it, message, &it->functions, numbers[1],
                  profile_function(it->profile, &function));
}

static bool read_line(struct reading *it, struct wire message)
{
    uint64_t numbers[FIELDS];
    uint32_t function = 0;
    if (!take_numbers(it, message, numbers, 0))
        return false;
    if (numbers[1] != 0 && !ids_find(&it->functions, numbers[1], &function))
        return refuse_id(it, &message, "function", numbers[1]);
    struct profile_line *line = profile_list_add(it->profile, &it->lines, sizeof *line);
    if (line) {
        line->function = function;
        line->line = numbers[2] > UINT32_MAX ? 0 : (uint32_t)numbers[2];
        line->column = numbers[3] > UINT32_MAX ? 0 : (uint32_t)numbers[3];
    }
    return line != NULL;
}

static bool read_location(struct reading *it, struct wire message)
{
    enum { LINE = 4 };
    uint64_t numbers[FIELDS];
    struct profile_location location = {.flags = LOCATION_EXACT};
    struct wire rest = message;
    struct wire_field field;
    if (!take_numbers(it, message, numbers, 1U << LINE))
        return false;
    if (numbers[2] != 0 && !ids_find(&it->mappings, numbers[2], &location.mapping))
        return refuse_id(it, &message, "mapping", numbers[2]);
    location.address = numbers[3];
    it->lines.count = 0;
    while (wire_next(&rest, &field))
        if (field.number == LINE && !read_line(it, field.inside))
            return false;
    if (it->lines.count > 0)
        location.flags |= LOCATION_LOOKED;
    if (numbers[5] != 0)
        location.flags |= LOCATION_FOLDED;
    return add_id(
        it, message, &it->locations, numbers[1],
        profile_location(it->profile, &location, it->lines.items, (uint32_t)it->lines.count));
}

static bool read_label(struct reading *it, struct wire message, struct profile_label *label)
{
    uint64_t numbers[FIELDS];
    if (!take_numbers(it, message, numbers, 0) ||
        !take_string(it, &message, numbers[1], &label->key) ||
        !take_string(it, &message, numbers[2], &label->text) ||
        !take_string(it, &message, numbers[4], &label->unit))
        return false;
    label->number = numbers[2] != 0 ? 0 : (int64_t)numbers[3];
    return true;
}

/* What is named so often, or alone. */
static bool push_location(struct reading *it, const struct wire *at, uint64_t id)
{
    uint32_t location;
    if (!ids_find(&it->locations, id, &location))
        return refuse_id(it, at, "location", id);
    return text_push(it->profile, &it->stack, location);
}

struct sample {
    int64_t values[PROFILE_TYPES_MAX];
    unsigned value_count, label_count;
    struct profile_label labels[PROFILE_LABELS_MAX];
};

static bool add_value(struct sample *sample, uint64_t value)
{
    if (sample->value_count < PROFILE_TYPES_MAX)
        sample->values[sample->value_count] = (int64_t)value;
    sample->value_count++;
    return true;
}

/* Repeated numbers: one in the field, or many packed. */
static bool read_numbers(struct reading *it, struct wire_field *field, struct sample *sample)
{
    bool places = field->number == 1;
    uint64_t value = field->value;
    if (field->type == WIRE_NUMBER)
        return places ? push_location(it, &field->inside, value) : add_value(sample, value);
    if (field->type != WIRE_BYTES)
        return refuse_at(it, field->inside.at, "a field has the wrong type");
    while (field->inside.at < field->inside.end) {
        if (!wire_number(&field->inside, &value))
            return refuse_at(it, field->inside.at, field->inside.bad);
        if (!(places ? push_location(it, &field->inside, value) : add_value(sample, value)))
            return false;
    }
    return true;
}

static bool read_sample(struct reading *it, struct wire message)
{
    enum { PLACES = 1, VALUES, LABEL };
    struct profile *profile = it->profile;
    const uint8_t *start = message.at;
    struct sample sample;
    struct wire_field field;
    it->stack.count = sample.value_count = sample.label_count = 0;
    while (wire_next(&message, &field)) {
        if (field.number == PLACES || field.number == VALUES) {
            if (!read_numbers(it, &field, &sample))
                return false;
        } else if (field.number == LABEL) {
            if (field.type != WIRE_BYTES)
                return refuse_at(it, field.inside.at, "a field has the wrong type");
            if (sample.label_count == PROFILE_LABELS_MAX)
                it->labels_lost = true;
            else if (!read_label(it, field.inside, &sample.labels[sample.label_count++]))
                return false;
        }
    }
    if (message.bad)
        return refuse_at(it, message.at, message.bad);
    if (sample.value_count != it->types || it->types == 0)
        return read_refuse(it->error, (uint64_t)((const char *)start - it->input->bytes),
                           "a sample has %u values instead of %u", sample.value_count, it->types);
    size_t row =
        profile_sample(profile, profile_stack(profile, it->stack.locations, it->stack.count),
                       profile_label_set(profile, sample.labels, sample.label_count));
    for (unsigned i = 0; i < it->columns && !profile->failed; i++)
        profile->samples.values[i][row] = sample.values[i];
    return !profile->failed;
}

static bool read_comments(struct reading *it, struct wire_field *field)
{
    uint64_t number = field->value;
    uint32_t string = 0, *place;
    do {
        if (field->type == WIRE_BYTES && !wire_number(&field->inside, &number))
            return field->inside.bad == NULL || refuse_at(it, field->inside.at, field->inside.bad);
        if (!take_string(it, &field->inside, number, &string))
            return false;
        place = profile_list_add(it->profile, &it->profile->comments, sizeof *place);
        if (!place)
            return false;
        *place = string;
    } while (field->inside.at < field->inside.end);
    return true;
}

/* The second time: all but the samples and the strings. */
static bool read_part(struct reading *it, struct wire_field *field, unsigned round)
{
    struct profile *profile = it->profile;
    bool early = field->number == MAPPING || field->number == FUNCTION;
    if (early != (round == 0))
        return true;
    switch (field->number) {
    case SAMPLE_TYPE:
        return read_sample_type(it, field->inside);
    case MAPPING:
        return read_mapping(it, field->inside);
    case LOCATION:
        return read_location(it, field->inside);
    case FUNCTION:
        return read_function(it, field->inside);
    case DROP_FRAMES:
        return take_string(it, &field->inside, field->value, &profile->drop_frames);
    case KEEP_FRAMES:
        return take_string(it, &field->inside, field->value, &profile->keep_frames);
    case TIME:
        profile->time_ns = (int64_t)field->value;
        return true;
    case DURATION:
        profile->duration_ns = (int64_t)field->value;
        return true;
    case PERIOD_TYPE:
        return read_type(it, field->inside, &profile->period_type);
    case PERIOD:
        profile->period = (int64_t)field->value;
        return true;
    case COMMENT:
        return read_comments(it, field);
    case DEFAULT_TYPE:
        it->default_type = field->value;
        return true;
    case DOC_URL:
        return take_string(it, &field->inside, field->value, &profile->doc_url);
    default:
        return true;
    }
}

static bool type_fits(const struct wire_field *field)
{
    bool message = field->number <= STRING || field->number == PERIOD_TYPE;
    return field->number > DOC_URL || (field->number == COMMENT && field->type == WIRE_BYTES) ||
           field->type == (message ? WIRE_BYTES : WIRE_NUMBER);
}

static bool add_string(struct reading *it, const struct wire *text)
{
    if (!list_reserve(&it->strings, &it->string_room, it->string_count + 1, sizeof *it->strings)) {
        it->profile->failed = true;
        return false;
    }
    size_t length = (size_t)(text->end - text->at);
    if (it->string_count == 0 && length > 0)
        return refuse_at(it, text->at, "the first string is not empty");
    it->strings[it->string_count++] = profile_string(it->profile, (const char *)text->at, length);
    return !it->profile->failed;
}

static struct wire whole(const struct read_input *input)
{
    const uint8_t *bytes = (const uint8_t *)input->bytes;
    return (struct wire){bytes, bytes + input->size, NULL};
}

static bool read_strings(struct reading *it)
{
    struct wire wire = whole(it->input);
    struct wire_field field;
    place_part(0, 20);
    while (wire_next(&wire, &field)) {
        place_at(wire.at);
        if (field.number == 0 || !type_fits(&field))
            return refuse_at(it, wire.at, "a field of the profile has the wrong type");
        it->samples += field.number == SAMPLE;
        if (field.number == STRING && !add_string(it, &field.inside))
            return false;
    }
    if (wire.bad)
        return read_refuse(it->error, (uint64_t)((const char *)wire.at - it->input->bytes),
                           "%s: the file is cut or damaged", wire.bad);
    return true;
}

static bool read_parts(struct reading *it)
{
    struct wire_field field;
    uint64_t twice = 0;
    for (unsigned round = 0; round < 2; round++) {
        struct wire wire = whole(it->input);
        place_part(20 + 10 * round, 30 + 10 * round);
        while (wire_next(&wire, &field)) {
            place_at(wire.at);
            if (!read_part(it, &field, round))
                return false;
        }
        const char *what = !ids_sort(&it->mappings, &twice)    ? "mapping"
                           : !ids_sort(&it->functions, &twice) ? "function"
                           : !ids_sort(&it->locations, &twice) ? "location"
                                                               : NULL;
        if (what)
            return read_refuse(it->error, 0, "two entries have the id of %s %llu", what,
                               (unsigned long long)twice);
    }
    return true;
}

static bool read_samples(struct reading *it)
{
    struct wire wire = whole(it->input);
    struct wire_field field;
    size_t released = 0;
    profile_reserve(it->profile, it->samples);
    place_part(40, 100);
    while (wire_next(&wire, &field)) {
        place_at(wire.at);
        if (field.number != SAMPLE)
            continue;
        if (!read_sample(it, field.inside))
            return false;
        size_t done = (size_t)((const char *)wire.at - it->input->bytes);
        if (it->input->pages && done - released >= RELEASE_BYTES) {
            paged_release(it->input->bytes, released, done);
            released = done;
        }
    }
    return true;
}

static void find_kind(struct reading *it)
{
    static const struct {
        const char *type;
        enum profile_kind kind;
    } kinds[] = {{TYPE_INUSE_SPACE, PROFILE_HEAP}, {TYPE_ALLOC_SPACE, PROFILE_HEAP},
                 {"space", PROFILE_HEAP},          {"cpu", PROFILE_CPU},
                 {"delay", PROFILE_CONTENTION},    {"contentions", PROFILE_CONTENTION}};
    struct profile *profile = it->profile;
    for (size_t i = COUNT_OF(kinds); i-- > 0;)
        if (profile_type_named(profile, kinds[i].type) >= 0)
            profile->kind = kinds[i].kind;
    profile->default_type = profile->types == 0 ? 0 : profile->types - 1;
    int named =
        it->default_type == 0 || it->default_type >= it->string_count
            ? -1
            : profile_type_named(profile, profile_text(profile, it->strings[it->default_type]));
    if (named >= 0)
        profile->default_type = (unsigned)named;
    profile->default_named = named >= 0;
    if (profile->kind == PROFILE_HEAP && profile->period == 1)
        profile->period = 0; /* each byte: all were recorded */
}

/* Recognises an export of a capture with exact totals. */
static void find_counted(struct profile *profile)
{
    const uint32_t *comments = profile->comments.items;
    for (size_t i = 0; i < profile->comments.count; i++)
        if (strcmp(profile_text(profile, comments[i]), PROFILE_COUNTED) == 0)
            profile->counted = true;
    for (size_t row = 0; row < profile->samples.count && profile->samples.weights; row++)
        if (profile_not_sampled(profile, profile->samples.label_sets[row]))
            profile->samples.weights[row] = 1;
}

static bool is(const struct read_input *input)
{
    enum { LOOKED_AT = 8 }; /* other bytes seldom make even three fields of the right types */
    struct wire wire = whole(input);
    struct wire_field field;
    unsigned good = 0;
    for (; good < LOOKED_AT && wire_next(&wire, &field); good++)
        if (field.number == 0 || field.number > DOC_URL || !type_fits(&field))
            return false;
    return good == LOOKED_AT || (good > 0 && wire.at == wire.end) || (good > 1 && wire.bad);
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading it = {.input = input, .profile = profile, .error = error};
    bool done = read_strings(&it) && read_parts(&it) && read_samples(&it);
    if (done) {
        find_kind(&it);
        estimate_weights(profile);
        find_counted(profile);
        if (it.labels_lost)
            profile_warn(profile, "only the first %d labels of a sample are kept",
                         PROFILE_LABELS_MAX);
    }
    free(it.strings);
    free(it.mappings.pairs);
    free(it.functions.pairs);
    free(it.locations.pairs);
    free(it.stack.locations);
    free(it.lines.items);
    return done;
}

const struct reader reader_pprof = {.name = "pprof", .is = is, .read = read, .traits = TRAIT_PPROF};
