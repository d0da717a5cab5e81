/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/modules.h. Locations are sorted by the file that is mapped there, so that each
 * file is opened once and asked for all its addresses in one pass: opening is what costs. Mappings
 * with one path and one build id are one module.
 */
#include "tool/symbol/modules.h"

#include <stdlib.h>
#include <string.h>

#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"

/* A mapping on the way to its module: those of one file come together. */
struct member {
    uint32_t path, build_id, mapping;
};

static bool modules_make(struct modules *modules, const struct profile *profile);
static int member_order(const void *left, const void *right);
static size_t module_make(struct modules *modules, const struct profile *profile,
                          const struct member *members, size_t count);
static int map_order(const void *left, const void *right);
static void main_find(struct modules *modules, const struct profile *profile);
static bool wanted_collect(struct modules *modules, const struct profile *profile, bool again);
static bool location_open(struct module *module, const struct profile_location *location,
                          bool again);

bool modules_collect(struct modules *modules, const struct profile *profile,
                     const struct symbol_options *options)
{
    memset(modules, 0, sizeof *modules);
    if (!modules_make(modules, profile))
        return false;
    main_find(modules, profile);
    return wanted_collect(modules, profile, options->again);
}

static bool modules_make(struct modules *modules, const struct profile *profile)
{
    size_t count = profile->mappings.count - 1, used;
    struct member *members = calloc(count + 1, sizeof *members);
    modules->items = calloc(count + 1, sizeof *modules->items);
    modules->of_mapping = calloc(count + 1, sizeof *modules->of_mapping);
    if (!members || !modules->items || !modules->of_mapping) {
        free(members);
        return false;
    }
    modules->items[0].path = modules->items[0].build_id = "";
    modules->count = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, i + 1);
        members[i] = (struct member){mapping->path, mapping->build_id, i + 1};
    }
    qsort(members, count, sizeof *members, member_order);
    for (size_t at = 0; at < count; at += used)
        if ((used = module_make(modules, profile, members + at, count - at)) == 0)
            break;
    free(members);
    for (size_t i = 1; i < modules->count; i++)
        if (!modules->items[i].maps)
            return false;
    return true;
}

static int member_order(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    if (a->build_id != b->build_id)
        return a->build_id < b->build_id ? -1 : 1;
    return a->mapping < b->mapping ? -1 : a->mapping > b->mapping;
}

/* The mappings from `first` on, as one module; answers how many. */
static size_t module_make(struct modules *modules, const struct profile *profile,
                          const struct member *members, size_t count)
{
    struct module *module = &modules->items[modules->count];
    size_t used = 1;
    while (used < count && members[used].path == members[0].path &&
           members[used].build_id == members[0].build_id)
        used++;
    module->path = profile_text(profile, members[0].path);
    module->build_id = profile_text(profile, members[0].build_id);
    module->maps = calloc(used, sizeof *module->maps);
    for (size_t i = 0; module->maps && i < used; i++) {
        const struct profile_mapping *mapping = profile_mapping_at(profile, members[i].mapping);
        module->maps[module->maps_count++] =
            (struct module_map){mapping->start, mapping->limit, mapping->offset};
        modules->of_mapping[members[i].mapping] = (uint32_t)modules->count;
    }
    if (module->maps)
        qsort(module->maps, module->maps_count, sizeof *module->maps, map_order);
    modules->count++;
    return module->maps ? used : 0;
}

static int map_order(const void *left, const void *right)
{
    const struct module_map *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* The program itself: the module of its path, or else of its name, or else the first mapping. Where
 * there are no mappings, all addresses are taken for the program's. */
static void main_find(struct modules *modules, const struct profile *profile)
{
    const char *program = profile_text(profile, profile->program);
    size_t found = profile->mappings.count > 1 ? modules->of_mapping[1] : 0;
    bool exact = false;
    for (size_t i = 1; program[0] && !exact && i < modules->count; i++) {
        const char *path = modules->items[i].path;
        exact = strcmp(path, program) == 0;
        if (exact || (path[0] == '/' && strcmp(name_base(path), name_base(program)) == 0))
            found = i;
    }
    modules->items[found].main = true;
}

static bool wanted_collect(struct modules *modules, const struct profile *profile, bool again)
{
    const struct profile_location *locations = profile->locations.items;
    size_t count = profile->locations.count;
    /* Our own library has put right what `entry_mend` would. */
    bool settled = profile->traits & TRAIT_CAPTURE;
    modules->places = calloc(count + 1, sizeof *modules->places);
    if (!modules->places)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = locations[i].mapping < profile->mappings.count
                              ? modules->of_mapping[locations[i].mapping]
                              : 0;
        struct module *module = &modules->items[number];
        if (!location_open(module, &locations[i], again))
            continue;
        modules->places[modules->places_count++] =
            (struct modules_place){i, number, module->wanted_count++};
    }
    for (size_t i = 0; i < modules->count; i++) {
        struct module *module = &modules->items[i];
        module->wanted = calloc(module->wanted_count + 1, sizeof *module->wanted);
        module->returns = calloc(module->wanted_count + 1, sizeof *module->returns);
        if (!module->wanted || !module->returns)
            return false;
    }
    for (size_t i = 0; i < modules->places_count; i++) {
        const struct modules_place *place = &modules->places[i];
        const struct profile_location *location = &locations[place->location];
        struct module *module = &modules->items[place->module];
        bool exact = location->flags & LOCATION_EXACT;
        module->wanted[place->wanted] = location->address - !exact;
        module->returns[place->wanted] = !exact && !settled;
    }
    return true;
}

/* Whether names are wanted for a location; counts it. */
static bool location_open(struct module *module, const struct profile_location *location,
                          bool again)
{
    module->locations++;
    bool open = location->address != 0 && (location->lines == 0 || again);
    module->given += location->lines > 0 && !open;
    return open;
}

void modules_free(struct modules *modules)
{
    for (size_t i = 0; modules->items && i < modules->count; i++)
        module_free(&modules->items[i]);
    free(modules->items);
    free(modules->of_mapping);
    free(modules->places);
    memset(modules, 0, sizeof *modules);
}
