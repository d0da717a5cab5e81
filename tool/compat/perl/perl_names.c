/* SPDX-License-Identifier: MIT */
/*
 * Names as the Perl commands cut them. Two functions of one short name in a report, say overloads,
 * get the address they begin at behind an '@'.
 */
#include "tool/compat/perl/perl.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/terminal/terminal.h"

uint64_t perl_code(const struct perl_profile *from, uint32_t location, bool leaf,
                   enum compat_command command)
{
    const struct profile_location *place = profile_location_at(&from->profile, location);
    bool cpu = from->kind == PROFILE_CPU && command == COMPAT_JEPROF;
    bool back = place->flags & LOCATION_EXACT ? leaf && cpu : !leaf || cpu;
    return place->address - (back && place->address != 0);
}

void perl_address(const struct perl_profile *from, uint32_t location, bool leaf,
                  enum compat_command command, char text[20])
{
    snprintf(text, 20, "%0*" PRIx64, (int)from->digits, perl_code(from, location, leaf, command));
}

static char *format_place(const struct perl_profile *from, const struct profile_function *function,
                          uint32_t line, enum compat_command command)
{
    const struct profile *profile = &from->profile;
    const char *file = profile_text(profile, function->file);
    size_t size = strlen(file) + 24;
    char *text = compat_room(NULL, size, 1);
    if (file[0] == '\0' && from->symbolized)
        snprintf(text, size, "?");
    else if (file[0] == '\0')
        snprintf(text, size, command == COMPAT_JEPROF ? "??:?" : "??:0");
    else if (line == 0)
        snprintf(text, size, command == COMPAT_JEPROF ? "%s:?" : "%s:0", file);
    else
        snprintf(text, size, "%s:%" PRIu32, file, line);
    return text;
}

/* An address without a name: where it is. */
static void name_by_module(const struct perl_profile *from, uint32_t location,
                           struct perl_name *name)
{
    const struct profile *profile = &from->profile;
    const struct profile_location *place = profile_location_at(profile, location);
    const struct profile_mapping *mapping = profile_mapping_at(profile, place->mapping);
    const char *path = place->mapping > 0 ? profile_text(profile, mapping->path) : "";
    const char *base = strrchr(path, '/');
    size_t size = strlen(path) + 40;
    char *text = compat_room(NULL, size, 1);
    base = base ? base + 1 : path;
    if (base[0] != '\0')
        snprintf(text, size, "%s+0x%" PRIx64, base,
                 place->address - mapping->start + mapping->offset);
    else
        snprintf(text, size, "0x%0*" PRIx64, (int)from->digits, place->address);
    name->name = text;
    name->full = strdup(text);
    name->place = strdup("??:0");
}

/* A name that is only the nearest known one says so. */
static char *guessed(char *name)
{
    size_t size = strlen(name) + 2;
    char *text = compat_room(NULL, size, 1);
    snprintf(text, size, "~%s", name);
    free(name);
    return text;
}

static void name_location(struct perl_stacks *stacks, uint32_t location, struct perl_name *names)
{
    const struct profile *profile = &stacks->from->profile;
    const struct profile_location *place = profile_location_at(profile, location);
    const struct profile_line *lines = profile_lines_of(profile, location);
    bool keep = stacks->words->value[COMPAT_NO_STRIP_TEMP].on;
    if (place->lines == 0)
        name_by_module(stacks->from, location, &names[0]);
    for (uint32_t i = 0; i < place->lines; i++) {
        const struct profile_function *function = profile_function_at(profile, lines[i].function);
        char *full = symbol_demangle_whole(profile_text(profile, function->system_name));
        if (!full)
            full = strdup(profile_text(profile, function->name));
        if (!full)
            compat_out_of_memory();
        char *short_name = compat_short_name(full, keep);
        names[i].full = full;
        names[i].place =
            format_place(stacks->from, function, lines[i].line, stacks->words->command);
        names[i].name = short_name;
        if (place->flags & LOCATION_GUESS) {
            names[i].name = guessed(short_name);
            names[i].full = guessed(full);
        }
    }
}

/* A function of a file that may share its short name with another one. */
struct twin {
    uint32_t name; /* in stacks->names */
    uint32_t location;
    uint32_t function;
    const char *text;
    uint64_t start;
};

static int compare_twins(const void *a, const void *b)
{
    const struct twin *left = a, *right = b;
    int order = strcmp(left->text, right->text);
    return order != 0 ? order
                      : (left->function > right->function) - (left->function < right->function);
}

/* Whether it is of the same function as the one before. */
static bool is_known(const struct twin *twins, size_t index)
{
    return index > 0 && twins[index].function == twins[index - 1].function &&
           strcmp(twins[index].text, twins[index - 1].text) == 0;
}

/* Where their functions begin, in the files' own addresses. */
static void find_starts(const struct perl_profile *from, struct twin *twins, size_t count)
{
    const struct profile *profile = &from->profile;
    struct symbol_at *places = compat_room(NULL, count, sizeof *places);
    size_t places_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct profile_location *place = profile_location_at(profile, twins[i].location);
        const struct profile_mapping *mapping = profile_mapping_at(profile, place->mapping);
        bool mapped = place->mapping != 0;
        if (!is_known(twins, i))
            places[places_count++] =
                (struct symbol_at){.path = mapped ? profile_text(profile, mapping->path) : "",
                                   .start = mapped ? mapping->start : 0,
                                   .offset = mapped ? mapping->offset : 0,
                                   .address = place->address - 1};
    }
    if (!symbol_starts(places, places_count))
        compat_out_of_memory();
    for (size_t i = 0, at = 0; i < count; i++)
        twins[i].start = is_known(twins, i) ? twins[i - 1].start : places[at++].found;
    free(places);
}

/* Those of one short name. */
static void tag_twins(struct perl_stacks *stacks, struct twin *twins, size_t count)
{
    bool differ = false;
    for (size_t i = 0; i < count; i++)
        differ |= twins[i].start != twins[0].start;
    for (size_t i = 0; i < count && differ; i++) {
        struct perl_name *name = &stacks->names[twins[i].name];
        size_t size = strlen(twins[i].text) + 20;
        if (twins[i].start == 0)
            continue;
        char *text = compat_room(NULL, size, 1);
        snprintf(text, size, "%s@%" PRIx64, twins[i].text, twins[i].start);
        free(name->name);
        name->name = text;
    }
}

static size_t name_end(const struct twin *twins, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && strcmp(twins[end].text, twins[first].text) == 0)
        end++;
    return end;
}

/* Only outermost names are told apart, and only those that are not cut in front. */
static void name_twins(struct perl_stacks *stacks)
{
    const struct profile *profile = &stacks->from->profile;
    size_t locations = profile->locations.count, count = 0, kept = 0;
    struct twin *twins = compat_room(NULL, locations, sizeof *twins);
    for (uint32_t i = 0; i < locations; i++) {
        const struct profile_location *place = profile_location_at(profile, i);
        uint32_t last = stacks->first_name[i + 1] - 1;
        const struct perl_name *name = &stacks->names[last];
        if (place->lines == 0 || place->address == 0 ||
            strncmp(name->full, name->name, strlen(name->name)) != 0)
            continue;
        uint32_t function = profile_lines_of(profile, i)[place->lines - 1].function;
        twins[count++] = (struct twin){last, i, function, name->name, 0};
    }
    if (count > 0)
        qsort(twins, count, sizeof *twins, compare_twins);
    /* Those that share their name with another function move to the front. */
    for (size_t first = 0, end; first < count; first = end) {
        end = name_end(twins, count, first);
        if (twins[end - 1].function == twins[first].function)
            continue;
        memmove(twins + kept, twins + first, (end - first) * sizeof *twins);
        kept += end - first;
    }
    find_starts(stacks->from, twins, kept);
    for (size_t first = 0, end; first < kept; first = end) {
        end = name_end(twins, kept, first);
        tag_twins(stacks, twins + first, end - first);
    }
    free(twins);
}

void perl_names_make(struct perl_stacks *stacks)
{
    const struct profile *profile = &stacks->from->profile;
    size_t locations = profile->locations.count, count = 0;
    stacks->first_name = compat_room(NULL, locations + 1, sizeof *stacks->first_name);
    for (uint32_t i = 0; i < locations; i++) {
        uint32_t lines = profile_location_at(profile, i)->lines;
        stacks->first_name[i] = (uint32_t)count;
        count += lines > 0 ? lines : 1;
    }
    stacks->first_name[locations] = (uint32_t)count;
    stacks->names = compat_room(NULL, count, sizeof *stacks->names);
    memset(stacks->names, 0, count * sizeof *stacks->names);
    for (uint32_t i = 0; i < locations; i++)
        name_location(stacks, i, stacks->names + stacks->first_name[i]);
    for (size_t i = 0; i < count; i++)
        if (!stacks->names[i].name || !stacks->names[i].full || !stacks->names[i].place)
            compat_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        struct perl_name *name = &stacks->names[i];
        terminal_clean(name->name, strlen(name->name));
        terminal_clean(name->place, strlen(name->place));
        terminal_clean(name->full, strlen(name->full));
    }
    stacks->names_count = count;
    name_twins(stacks);
}
