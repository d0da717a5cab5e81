/* SPDX-License-Identifier: MIT */
/*
 * Files of callgrind (and of all that write for KCachegrind): see read_callgrind.h for what is made
 * of them. The body is lines "POSITION COSTS" in the function that was named last; a "calls=" line
 * says that the next one is the cost of a call. Names are written once, "(7) main", and later only
 * by number; positions may be relative to the line before.
 *
 * "fl=", "fi=" and "fe=" all say in which file the lines that follow are. A function belongs
 * to the file that was current at its "fn=" (of a call: "cfi=", else the current one); lines
 * of other files are code that was inlined into it, and cost that function as well. Readers
 * that print inclusive cost (callgrind_annotate) show such a part as the same function in the
 * other file, beside the whole function. So the place of such a line is that function in both
 * files, one inside the other.
 */
#include "tool/profile/read/read_callgrind.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/profile/parse/parse.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

enum { OBJECT, FILE_NAME, FUNCTION, NAME_KINDS };

/* A line of another file in a function. */
struct inlined_place {
    uint32_t location, function;
};

struct reading {
    struct callgrind callgrind;
    struct profile *profile;
    struct keys ids; /* of compressed names: kind and number */
    struct list names;
    struct keys functions, selves, calls; /* numbers are those of callgrind's lists */
    struct keys mappings, inlined;
    struct list mapping_numbers;
    struct list inlined_places; /* struct inlined_place */
    /* Where the next line is. */
    uint32_t object, file, function;
    uint32_t called_object, called_file;
    uint32_t pending_callee; /* named by "cfn=" */
    bool has_called_object, has_called_file;
    bool has_callee; /* "calls=" was there: the next line is its cost */
    unsigned positions;
    uint64_t position[4];
    unsigned line_position;
    uint64_t bad;
};

/* ---- names ---- */

static uint32_t name_of(struct reading *reading, unsigned kind, struct cursor text)
{
    struct profile *profile = reading->profile;
    uint64_t id;
    bool fresh;
    cursor_trim(&text);
    struct cursor number = text;
    if (!cursor_take(&number, "(") || !cursor_number(&number, 10, &id) ||
        !cursor_take(&number, ")"))
        return profile_string(profile, text.at, cursor_left(&text));
    cursor_trim(&number);
    if (kind == FILE_NAME && cursor_is(&number, "???"))
        return 0;
    uint32_t at = keys_add(&reading->ids, (struct key){{kind, id, 0}}, &fresh);
    if (fresh)
        profile_list_add(profile, &reading->names, sizeof(uint32_t));
    if (at >= reading->names.count)
        return 0;
    uint32_t *name = (uint32_t *)reading->names.items + at;
    if (number.at < number.end)
        *name = profile_string(profile, number.at, cursor_left(&number));
    return *name;
}

static uint32_t mapping_of(struct reading *reading, uint32_t object)
{
    struct profile *profile = reading->profile;
    bool fresh;
    if (object == 0)
        return 0;
    uint32_t at = keys_add(&reading->mappings, (struct key){{object, 0, 0}}, &fresh);
    if (fresh) {
        struct profile_mapping mapping = {.path = object, .has_functions = true};
        uint32_t number = profile_mapping(profile, &mapping);
        uint32_t *kept = profile_list_add(profile, &reading->mapping_numbers, sizeof *kept);
        if (kept)
            *kept = number;
    }
    return at < reading->mapping_numbers.count ? ((uint32_t *)reading->mapping_numbers.items)[at]
                                               : 0;
}

/* The index of a function in callgrind's list. */
static uint32_t function_of(struct reading *reading, uint32_t name, uint32_t file, uint32_t object)
{
    struct profile *profile = reading->profile;
    bool fresh;
    uint32_t index = keys_add(&reading->functions, (struct key){{name, object, file}}, &fresh);
    if (fresh) {
        struct profile_function function = {.name = name, .system_name = name, .file = file};
        struct callgrind_function made = {.function = profile_function(profile, &function),
                                          .mapping = mapping_of(reading, object),
                                          .file = file,
                                          .first_self = CALLGRIND_NONE,
                                          .first_call = CALLGRIND_NONE};
        struct callgrind_function *kept =
            profile_list_add(profile, &reading->callgrind.functions, sizeof *kept);
        if (kept)
            *kept = made;
    }
    if (index >= reading->callgrind.functions.count) {
        profile->failed = true;
        return CALLGRIND_NONE;
    }
    return index;
}

static struct callgrind_function *function_at(const struct reading *reading, uint32_t index)
{
    return callgrind_function_at(&reading->callgrind, index);
}

/* A line of another file: the function there, inside the function where it begins. */
static uint32_t inlined_at(struct reading *reading, uint32_t index, uint32_t line)
{
    struct profile *profile = reading->profile;
    const struct callgrind_function *function = function_at(reading, index);
    struct profile_function place = *profile_function_at(profile, function->function);
    struct key key = {{index, reading->file, line}};
    bool fresh;
    uint32_t at = keys_add(&reading->inlined, key, &fresh);
    place.file = reading->file;
    if (fresh) {
        struct profile_line lines[] = {
            {.function = profile_function(profile, &place), .line = line},
            {.function = function->function}};
        struct profile_location location = {.mapping = function->mapping};
        uint32_t number = profile_location(profile, &location, lines, COUNT_OF(lines));
        struct inlined_place *made =
            profile_list_add(profile, &reading->inlined_places, sizeof *made);
        if (made)
            *made = (struct inlined_place){number, index};
    }
    if (at >= reading->inlined_places.count) {
        profile->failed = true;
        return 0;
    }
    return ((struct inlined_place *)reading->inlined_places.items)[at].location;
}

/* A line of a function. */
static uint32_t location_of(struct reading *reading, uint32_t index, uint64_t line)
{
    const struct callgrind_function *function = function_at(reading, index);
    uint32_t number = line <= INT32_MAX ? (uint32_t)line : 0;
    return reading->file == function->file
               ? profile_named(reading->profile, function->function, number, function->mapping)
               : inlined_at(reading, index, number);
}

/* A function that nothing calls has no inclusive cost of its own in the file; what is printed for
 * it is what its lines in its own file cost, and each of the other files stands for itself. */
static void roots_split(struct reading *reading)
{
    const struct inlined_place *places = reading->inlined_places.items;
    for (size_t i = 0; i < reading->inlined_places.count; i++) {
        if (function_at(reading, places[i].function)->callee)
            continue;
        struct profile_line line = profile_lines_of(reading->profile, places[i].location)[0];
        profile_set_lines(reading->profile, places[i].location, &line, 1, 0);
    }
}

/* ---- costs ---- */

static bool parse_position(struct reading *reading, struct cursor *line, unsigned which)
{
    uint64_t *position = &reading->position[which], number;
    bool less = false;
    cursor_spaces(line);
    if (cursor_take(line, "*"))
        return true;
    bool relative = cursor_take(line, "+") || (less = cursor_take(line, "-"));
    bool hex = cursor_left(line) > 2 && line->at[0] == '0' && line->at[1] == 'x';
    if (!cursor_number(line, hex ? 16 : 10, &number))
        return false;
    *position = !relative ? number : less ? *position - number : *position + number;
    return true;
}

static void add(int64_t *value, uint64_t more)
{
    const int64_t max = INT64_C(1) << 59;
    *value = more < (uint64_t)(max - *value) ? *value + (int64_t)more : max;
}

static void add_call(struct reading *reading, const uint64_t *costs, uint64_t line)
{
    struct profile *profile = reading->profile;
    uint32_t callee = reading->pending_callee;
    bool fresh;
    uint32_t index =
        keys_add(&reading->calls, (struct key){{reading->function, callee, reading->file}}, &fresh);
    if (fresh) {
        uint32_t location = location_of(reading, reading->function, line);
        struct callgrind_call *made =
            profile_list_add(profile, &reading->callgrind.calls, sizeof *made);
        struct callgrind_function *caller = function_at(reading, reading->function);
        if (!made)
            return;
        *made = (struct callgrind_call){
            .callee = callee, .next = caller->first_call, .location = location};
        caller->first_call = index;
    }
    if (index >= reading->callgrind.calls.count || reading->function == callee)
        return; /* what it does in itself is in its own cost */
    struct callgrind_call *call = callgrind_call_at(&reading->callgrind, index);
    struct callgrind_function *to = function_at(reading, callee);
    to->callee = true;
    for (unsigned i = 0; i < reading->callgrind.events; i++) {
        call->costs[i] += (double)costs[i];
        function_at(reading, reading->function)->called[i] += (double)costs[i];
        to->received[i] += (double)costs[i];
    }
}

static void add_self(struct reading *reading, const uint64_t *costs, uint64_t line)
{
    struct profile *profile = reading->profile;
    uint32_t location = location_of(reading, reading->function, line);
    bool fresh;
    uint32_t index =
        keys_add(&reading->selves, (struct key){{reading->function, location, 0}}, &fresh);
    if (fresh) {
        struct callgrind_self *made =
            profile_list_add(profile, &reading->callgrind.selves, sizeof *made);
        struct callgrind_function *function = function_at(reading, reading->function);
        if (!made)
            return;
        made->location = location;
        made->next = function->first_self;
        function->first_self = index;
    }
    if (index >= reading->callgrind.selves.count)
        return;
    struct callgrind_self *self = (struct callgrind_self *)reading->callgrind.selves.items + index;
    for (unsigned i = 0; i < reading->callgrind.events; i++) {
        add(&self->costs[i], costs[i]);
        function_at(reading, reading->function)->own[i] += (double)costs[i];
    }
}

static void take_costs(struct reading *reading, struct cursor line)
{
    uint64_t costs[COSTS_MAX] = {0};
    for (unsigned i = 0; i < reading->positions; i++)
        if (!parse_position(reading, &line, i)) {
            reading->bad++;
            return;
        }
    for (unsigned i = 0; i < reading->callgrind.events; i++)
        if (!cursor_number(&line, 10, &costs[i]))
            break;
    uint64_t position = reading->position[reading->line_position];
    bool call = reading->has_callee;
    reading->has_callee = false;
    if (reading->function == CALLGRIND_NONE || reading->profile->failed)
        return;
    if (call)
        add_call(reading, costs, position);
    else
        add_self(reading, costs, position);
}

/* ---- lines ---- */

static void take_function(struct reading *reading, struct cursor text, bool called)
{
    uint32_t name = name_of(reading, FUNCTION, text);
    if (!called) {
        reading->function = function_of(reading, name, reading->file, reading->object);
        return;
    }
    uint32_t object = reading->has_called_object ? reading->called_object : reading->object;
    uint32_t file = reading->has_called_file ? reading->called_file : reading->file;
    reading->pending_callee = function_of(reading, name, file, object);
    reading->has_called_object = reading->has_called_file = false;
}

static void take_events(struct reading *reading, struct cursor text)
{
    struct profile *profile = reading->profile;
    if (reading->callgrind.events > 0)
        return; /* another part of the same */
    for (cursor_trim(&text); text.at < text.end; cursor_spaces(&text)) {
        char name[64];
        struct cursor word = cursor_until(&text, ' ');
        size_t length = cursor_left(&word);
        if (length == 0 || length >= sizeof name || reading->callgrind.events == COSTS_MAX)
            continue;
        memcpy(name, word.at, length);
        name[length] = '\0';
        bool bytes = strstr(name, "_space") || strstr(name, "_requested"); /* a heap of ours */
        if (profile_type(profile, name, bytes ? UNIT_BYTES : UNIT_COUNT) ==
            reading->callgrind.events)
            reading->callgrind.events++;
        if (bytes)
            profile->kind = PROFILE_HEAP;
    }
}

static bool take_head(struct reading *reading, struct cursor line)
{
    struct profile *profile = reading->profile;
    if (cursor_take(&line, "events:")) {
        take_events(reading, line);
    } else if (cursor_take(&line, "positions:")) {
        bool instruction = memmem(line.at, cursor_left(&line), "instr", 5) != NULL;
        reading->positions = instruction && memmem(line.at, cursor_left(&line), "line", 4) ? 2 : 1;
        reading->line_position = reading->positions - 1;
        if (instruction && reading->positions == 1)
            reading->line_position = 3; /* no line at all: that one stays 0 */
    } else if (cursor_take(&line, "cmd:")) {
        cursor_trim(&line);
        profile->command = profile_string(profile, line.at, cursor_left(&line));
        struct cursor program = cursor_until(&line, ' ');
        profile->program = profile_string(profile, program.at, cursor_left(&program));
    } else if (cursor_take(&line, "creator: memoir")) {
        reading->callgrind.ours = true;
    } else if (cursor_take(&line, "pid:")) {
        uint64_t pid;
        if (cursor_number(&line, 10, &pid) && pid <= INT32_MAX)
            profile->pid = (int64_t)pid;
    } else {
        struct cursor key = cursor_until(&line, ':');
        return line.at > key.end && memchr(key.at, ' ', cursor_left(&key)) == NULL &&
               memchr(key.at, '=', cursor_left(&key)) == NULL;
    }
    return true;
}

static void take_line(struct reading *reading, struct cursor line)
{
    cursor_trim(&line);
    if (line.at == line.end || *line.at == '#')
        return;
    if ((*line.at >= '0' && *line.at <= '9') || strchr("+-*", *line.at)) {
        take_costs(reading, line);
    } else if (cursor_take(&line, "fn=")) {
        take_function(reading, line, false);
    } else if (cursor_take(&line, "cfn=")) {
        take_function(reading, line, true);
    } else if (cursor_take(&line, "fl=") || cursor_take(&line, "fi=") ||
               cursor_take(&line, "fe=")) {
        reading->file = name_of(reading, FILE_NAME, line);
    } else if (cursor_take(&line, "ob=")) {
        reading->object = name_of(reading, OBJECT, line);
    } else if (cursor_take(&line, "cob=")) {
        reading->called_object = name_of(reading, OBJECT, line);
        reading->has_called_object = true;
    } else if (cursor_take(&line, "cfi=") || cursor_take(&line, "cfl=")) {
        reading->called_file = name_of(reading, FILE_NAME, line);
        reading->has_called_file = true;
    } else if (cursor_take(&line, "calls=")) {
        reading->has_callee = reading->pending_callee != CALLGRIND_NONE;
    } else if (!cursor_take(&line, "jump=") && !cursor_take(&line, "jcnd=") &&
               !cursor_take(&line, "rec=") && !cursor_take(&line, "frfn=") &&
               !take_head(reading, line)) {
        reading->bad++;
    }
}

static bool is(const struct read_input *input)
{
    enum { LINES_LOOKED_AT = 100 }; /* a head has about 15, and one for each part */
    struct cursor file = {input->bytes, input->bytes + input->size}, line;
    for (unsigned i = 0; i < LINES_LOOKED_AT && cursor_line(&file, &line); i++) {
        if (cursor_is(&line, "# callgrind format") || cursor_take(&line, "creator: callgrind") ||
            cursor_take(&line, "events:"))
            return true;
        struct cursor key = cursor_until(&line, ':');
        if (cursor_left(&key) > 0 && *key.at != '#' && memchr(key.at, ' ', cursor_left(&key)))
            return false;
    }
    return false;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct reading reading = {.profile = profile,
                              .callgrind = {.profile = profile},
                              .function = CALLGRIND_NONE,
                              .pending_callee = CALLGRIND_NONE,
                              .positions = 1};
    struct cursor file = {input->bytes, input->bytes + input->size}, line;
    while (!profile->failed && cursor_line(&file, &line))
        take_line(&reading, line);
    bool done = reading.callgrind.events > 0 && reading.callgrind.selves.count > 0;
    if (done && !profile->failed)
        roots_split(&reading);
    if (done && !profile->failed)
        callgrind_make_stacks(&reading.callgrind);
    if (done && reading.callgrind.calls.count > 0)
        profile_warn(profile,
                     "callgrind records costs of functions and calls, not of stacks: these "
                     "stacks are estimated in proportion to its calls. The self cost of a "
                     "function is exact");
    if (reading.bad > 0)
        profile_warn(profile, "%llu lines can't be parsed and are left out",
                     (unsigned long long)reading.bad);
    struct keys *keys[] = {&reading.ids,   &reading.functions, &reading.selves,
                           &reading.calls, &reading.mappings,  &reading.inlined};
    struct list *lists[] = {&reading.names,
                            &reading.mapping_numbers,
                            &reading.inlined_places,
                            &reading.callgrind.functions,
                            &reading.callgrind.selves,
                            &reading.callgrind.calls};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        keys_free(keys[i]);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        free(lists[i]->items);
    return done || read_refuse(error, input->size, "this callgrind file has no costs");
}

const struct reader reader_callgrind = {.name = "callgrind", .is = is, .read = read};
