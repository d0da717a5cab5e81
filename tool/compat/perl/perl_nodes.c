/* SPDX-License-Identifier: MIT */
/*
 * Perl's rows: stacks in terms of functions, lines, files or addresses, and how numbers look. The
 * original knows a row by its text alone, so that two functions of one name are one row; so do we.
 * Numbers are printed with the original's rounding (megabytes with one digit) since scripts cut
 * them out of columns.
 */
#include "tool/compat/perl/perl.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"

struct builder {
    const struct perl_stacks *stacks;
    struct perl_nodes *nodes;
    enum perl_by by;
    char *text;
    size_t text_room;
    size_t length, room; /* of nodes->path */
};

enum shown_unit { IN_MEGABYTES, IN_BYTES, IN_OBJECTS, IN_SECONDS, IN_SAMPLES };

static void add_location(struct builder *builder, uint32_t location, bool leaf);
static void frame_text(const struct perl_stacks *stacks, const struct perl_name *name, bool inlined,
                       const char *address, enum perl_by by, char *text, size_t size);
static uint32_t node_of(struct perl_nodes *nodes, const char *name);
static const void *name_bytes(const void *context, uint32_t number, size_t *size);
static void add_up(struct perl_nodes *nodes, const struct perl_stacks *stacks);
static enum shown_unit unit_of(const struct perl_stacks *stacks);

void perl_nodes_make(struct perl_nodes *nodes, const struct perl_stacks *stacks, enum perl_by by)
{
    enum { TEXT_FIRST = 256 };
    struct builder builder = {.stacks = stacks, .nodes = nodes, .by = by, .text_room = TEXT_FIRST};
    builder.text = compat_room(NULL, TEXT_FIRST, 1);
    memset(nodes, 0, sizeof *nodes);
    nodes->starts = compat_room(NULL, stacks->count + 1, sizeof *nodes->starts);
    for (size_t i = 0; i < stacks->count; i++) {
        const struct perl_stack *stack = &stacks->stacks[i];
        nodes->starts[i] = (uint32_t)builder.length;
        for (uint32_t k = 0; k < stack->count; k++)
            add_location(&builder, stacks->path[stack->first + k], k == 0 && !stack->cut);
    }
    nodes->starts[stacks->count] = (uint32_t)builder.length;
    free(builder.text);
    add_up(nodes, stacks);
}

static void add_location(struct builder *builder, uint32_t location, bool leaf)
{
    const struct perl_stacks *stacks = builder->stacks;
    struct perl_nodes *nodes = builder->nodes;
    uint32_t end = stacks->first_name[location + 1];
    char address[20];
    if (profile_location_at(&stacks->from->profile, location)->address > INT64_MAX)
        return;
    perl_address(stacks->from, location, leaf, stacks->words->command, address);
    for (uint32_t i = stacks->first_name[location]; i < end; i++) {
        const struct perl_name *name = &stacks->names[i];
        size_t need = strlen(name->name) + strlen(name->place) + 64;
        compat_reserve(&builder->text, &builder->text_room, need, 1);
        frame_text(stacks, name, i + 1 < end, address, builder->by, builder->text,
                   builder->text_room);
        compat_reserve(&nodes->path, &builder->room, builder->length + 1, sizeof *nodes->path);
        uint32_t node = node_of(nodes, builder->text);
        nodes->nodes[node].inlined |= i + 1 < end;
        nodes->path[builder->length++] = node;
    }
}

/* One frame of a location in the terms that are wanted; `text` has room for it. */
static void frame_text(const struct perl_stacks *stacks, const struct perl_name *name, bool inlined,
                       const char *address, enum perl_by by, char *text, size_t size)
{
    bool show = stacks->words->value[COMPAT_SHOW_ADDRESSES].on;
    const char *mark = inlined ? " (inline)" : "";
    const char *end = strrchr(name->place, ':');
    size_t file = end && end[1 + strspn(end + 1, "0123456789")] == '\0'
                      ? (size_t)(end - name->place)
                      : strlen(name->place);
    const char *left = show ? " (" : "", *shown = show ? address : "", *right = show ? ")" : "";
    if (by == PERL_BY_ADDRESS)
        snprintf(text, size, "%s %s%s %s", address, name->name, mark, name->place);
    else if (by == PERL_BY_LINE)
        snprintf(text, size, "%s%s %s%s%s%s", name->name, mark, name->place, left, shown, right);
    else if (by == PERL_BY_FUNCTION)
        snprintf(text, size, "%s%s%s%s%s", name->name, mark, left, shown, right);
    else if (strcmp(name->place, "??:0") == 0)
        snprintf(text, size, "%s", address);
    else
        snprintf(text, size, "%.*s", (int)file, name->place);
}

/* The node of a name, which is there once. */
static uint32_t node_of(struct perl_nodes *nodes, const char *name)
{
    uint32_t number;
    if (!map_find(&nodes->names, nodes, name_bytes, name, strlen(name), &number))
        compat_out_of_memory();
    if (number != MAP_NONE)
        return number;
    compat_reserve(&nodes->nodes, &nodes->room, nodes->count + 1, sizeof *nodes->nodes);
    char *copy = strdup(name);
    if (!copy)
        compat_out_of_memory();
    nodes->nodes[nodes->count] = (struct perl_node){.name = copy};
    map_add(&nodes->names, (uint32_t)nodes->count);
    return (uint32_t)nodes->count++;
}

static const void *name_bytes(const void *context, uint32_t number, size_t *size)
{
    const char *name = ((const struct perl_nodes *)context)->nodes[number].name;
    *size = strlen(name);
    return name;
}

/* A node that is on a stack twice counts once. */
static void add_up(struct perl_nodes *nodes, const struct perl_stacks *stacks)
{
    size_t *seen = compat_room(NULL, nodes->count, sizeof *seen);
    memset(seen, 0, nodes->count * sizeof *seen);
    for (size_t i = 0; i < stacks->count; i++) {
        double value = stacks->stacks[i].value;
        for (uint32_t k = nodes->starts[i]; k < nodes->starts[i + 1]; k++) {
            struct perl_node *node = &nodes->nodes[nodes->path[k]];
            if (k == nodes->starts[i]) {
                node->flat += value;
                nodes->total += value;
            }
            if (seen[nodes->path[k]] == i + 1)
                continue;
            seen[nodes->path[k]] = i + 1;
            node->total += value;
        }
    }
    free(seen);
}

void perl_nodes_free(struct perl_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        free(nodes->nodes[i].name);
    free(nodes->nodes);
    map_free(&nodes->names);
    free(nodes->path);
    free(nodes->starts);
}

enum perl_by perl_by(const struct compat_words *words)
{
    return words->value[COMPAT_LINES].on       ? PERL_BY_LINE
           : words->value[COMPAT_ADDRESSES].on ? PERL_BY_ADDRESS
           : words->value[COMPAT_FILES].on     ? PERL_BY_FILE
                                               : PERL_BY_FUNCTION;
}

const char *perl_number_or_dot(const struct perl_stacks *stacks, double value, char text[40])
{
    return value == 0 ? "." : perl_number(stacks, value, text);
}

const char *perl_number(const struct perl_stacks *stacks, double value, char text[40])
{
    switch (unit_of(stacks)) {
    case IN_MEGABYTES:
        snprintf(text, 40, "%.1f", value / 1048576);
        break;
    case IN_SECONDS:
        snprintf(text, 40, "%.3f", value / 1e9);
        break;
    default:
        snprintf(text, 40, "%lld", (long long)value);
    }
    return text;
}

static enum shown_unit unit_of(const struct perl_stacks *stacks)
{
    const struct compat_value *value = stacks->words->value;
    if (stacks->from->kind == PROFILE_HEAP || stacks->from->kind == PROFILE_GROWTH) {
        if (value[COMPAT_INUSE_OBJECTS].on || value[COMPAT_ALLOC_OBJECTS].on)
            return IN_OBJECTS;
        return value[COMPAT_SHOW_BYTES].on ? IN_BYTES : IN_MEGABYTES;
    }
    if (stacks->from->kind == PROFILE_CONTENTION && !value[COMPAT_CONTENTIONS].on)
        return IN_SECONDS;
    return IN_SAMPLES;
}

const char *perl_percent(double part, double whole, char text[40])
{
    if (whole != 0)
        snprintf(text, 40, "%.1f%%", part * 100 / whole);
    else
        snprintf(text, 40, "%s", part == 0 ? "nan" : part > 0 ? "+inf" : "-inf");
    return text;
}

const char *perl_units(const struct perl_stacks *stacks)
{
    static const char *const units[] = {"MB", "B", "objects", "seconds", "samples"};
    return units[unit_of(stacks)];
}
