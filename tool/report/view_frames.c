/* SPDX-License-Identifier: MIT */
/*
 * The frames of a view. A frame is known by what the user wants to tell apart: function and place,
 * file, module, ... Two profiles have strings of their own, so that texts are compared, but once a
 * location only. Of a file's path only the last part counts, since builds differ in the rest.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/maker.h"
#include "tool/terminal/terminal.h"

static void item_add(struct maker *maker, struct source *source, struct expansion *expansion,
                     const struct profile_location *location, const struct profile_line *line,
                     bool inlined);
static void expansion_match(const struct maker *maker, struct source *source,
                            struct expansion *expansion, const struct profile_function *function,
                            uint32_t path);
static bool fits(struct pattern_memo *memo, uint32_t name, uint32_t file, uint32_t path);
static uint32_t blame_bits(struct source *source, uint32_t function, uint32_t mapping);
static void frame_unnamed(struct maker *maker, const struct profile_location *location,
                          const struct profile_mapping *mapping, struct view_frame *frame);
static const char *kept(struct maker *maker, const char *text);
static void frame_coarsen(struct view_frame *frame, enum view_by by);
static uint32_t frame_intern(struct maker *maker, const struct view_frame *frame);
static uint64_t known_hash(const void *context, uint32_t number);
static uint64_t frame_hash(const struct view_frame *frame, enum view_by by);
static uint64_t text_mix(uint64_t hash, const char *text);
static bool known_same(const void *context, uint32_t number, const void *key);
static uint32_t nameless_end(const struct maker *maker, const struct source *source,
                             const uint32_t *numbers, uint32_t count);
static uint32_t path_of_item(const struct source *source, const struct item *item);
static uint32_t frame_of_size(struct maker *maker, struct source *source, size_t row);
static uint32_t frame_of_thread(struct maker *maker, struct source *source, uint32_t set);

const char *view_by_word(enum view_by by)
{
#define ROW(id, word, what) word,
    static const char *const words[] = {VIEW_BYS(ROW, ROW)};
#undef ROW
    return words[by];
}

bool view_by_has(enum view_by by, unsigned what)
{
#define ROW(id, word, what) what,
    static const uint8_t rows[] = {VIEW_BYS(ROW, ROW)};
#undef ROW
    return rows[by] & what;
}

const struct expansion *frames_expand(struct maker *maker, struct source *source, uint32_t number)
{
    struct expansion *expansion = &source->expansions[number];
    if (expansion->made)
        return expansion;
    const struct profile *profile = source->profile;
    const struct profile_location *location = profile_location_at(profile, number);
    const struct profile_line *lines = profile_lines_of(profile, number);
    uint32_t path = profile_mapping_at(profile, location->mapping)->path;
    uint32_t from = maker->options.no_inlines && location->lines > 0 ? location->lines - 1 : 0;
    *expansion = (struct expansion){.first = (uint32_t)maker->items_count, .made = true};
    if (location->lines == 0)
        item_add(maker, source, expansion, location, NULL, false);
    for (uint32_t i = 0; i < from; i++) /* not shown, but there, as in pprof */
        expansion_match(maker, source, expansion, profile_function_at(profile, lines[i].function),
                        path);
    for (uint32_t i = from; i < location->lines; i++)
        item_add(maker, source, expansion, location, &lines[i], i + 1 < location->lines);
    if (source->module.answers && path != 0 && pattern_memo_fits(&source->module, path))
        expansion->focus |= 1u << FOCUS_MAX;
    return maker->failed ? NULL : expansion;
}

/* One line of a location, or the location itself if it has none (`line` NULL). */
static void item_add(struct maker *maker, struct source *source, struct expansion *expansion,
                     const struct profile_location *location, const struct profile_line *line,
                     bool inlined)
{
    const struct profile *profile = source->profile;
    const struct profile_mapping *mapping = profile_mapping_at(profile, location->mapping);
    const struct profile_function *function =
        profile_function_at(profile, line ? line->function : 0);
    struct view_frame frame = {
        .name = profile_text(profile, function->name),
        .file = profile_text(profile, function->file),
        .module = profile_text(profile, mapping->path),
        .line = line ? line->line : 0,
        .address = location->address,
        .flags = inlined ? FRAME_INLINED : 0,
    };
    struct item item = {
        .location = (uint32_t)(expansion - source->expansions),
        .line = line ? (uint32_t)(line - (const struct profile_line *)profile->lines.items) -
                           location->first_line
                     : 0,
    };
    uint32_t name = function->name, file = function->file, path = mapping->path;
    expansion_match(maker, source, expansion, function, path);
    if ((source->hide.answers && fits(&source->hide, name, file, path)) ||
        (source->show.answers && !fits(&source->show, name, file, path)))
        return;
    if (source->from.answers && fits(&source->from, name, file, path))
        item.bits |= ITEM_FROM;
    if (source->prune.answers && fits(&source->prune, name, file, path))
        item.bits |= ITEM_PRUNE;
    bool known = line && !(location->flags & LOCATION_GUESS); /* a guess is not blamed */
    if (maker->fold)
        item.bits |= blame_bits(source, known ? line->function : 0, location->mapping);
    if (maker->enter && strncmp(name_base(frame.module), "libmemoir.so", 12) == 0)
        item.bits |= ITEM_INSIDE;
    if (frame.name[0] == '\0')
        frame_unnamed(maker, location, mapping, &frame);
    else if (location->flags & LOCATION_GUESS && frame.name[0] != '~')
        frame.name = kept(maker, arena_print(&maker->texts, "~%s", frame.name));
    if (location->flags & LOCATION_GUESS)
        frame.flags |= FRAME_GUESS;
    item.bits |= frame.flags & FRAME_UNNAMED ? ITEM_UNNAMED : 0;
    item.bits |= frame.flags & (FRAME_UNNAMED | FRAME_GUESS) ? ITEM_NAMELESS : 0;
    if (strcmp(frame.name, "main") == 0 || strcmp(frame.name, "_start") == 0)
        item.bits |= ITEM_START;
    frame_coarsen(&frame, maker->options.by);
    item.frame = frame_intern(maker, &frame);
    if (item.frame == UINT32_MAX ||
        !maker_room(maker, &maker->items, sizeof item, maker->items_count, &maker->items_room))
        return;
    maker->items[maker->items_count++] = item;
    expansion->count++;
}

/* What --focus and --ignore say of a stack with this frame. */
static void expansion_match(const struct maker *maker, struct source *source,
                            struct expansion *expansion, const struct profile_function *function,
                            uint32_t path)
{
    uint32_t name = function->name, file = function->file;
    for (unsigned i = 0; i < maker->focus_count; i++)
        if (fits(&source->focus[i], name, file, path))
            expansion->focus |= 1u << i;
    for (unsigned i = 0; i < maker->ignore_count; i++)
        expansion->ignore = expansion->ignore || fits(&source->ignore[i], name, file, path);
}

static bool fits(struct pattern_memo *memo, uint32_t name, uint32_t file, uint32_t path)
{
    return (name != 0 && pattern_memo_fits(memo, name)) ||
           (file != 0 && pattern_memo_fits(memo, file)) ||
           (path != 0 && pattern_memo_fits(memo, path));
}

/* Whether code is a library's, by its name and by its file; each is looked at once. */
static uint32_t blame_bits(struct source *source, uint32_t function, uint32_t mapping)
{
    enum { NEITHER = 0x80 };
    const struct profile *profile = source->profile;
    uint8_t *of_function = &source->functions[function], *of_mapping = &source->mappings[mapping];
    if (*of_function == 0) {
        const struct profile_function *known = profile_function_at(profile, function);
        const char *name = profile_text(profile, known->name);
        *of_function = blame_is_allocator(name) ? ITEM_ALLOCATOR | ITEM_LIBRARY
                       : blame_is_wrapper(name) ? ITEM_WRAPPER | ITEM_LIBRARY
                       : blame_is_library(name, profile_text(profile, known->file), "")
                           ? ITEM_LIBRARY
                           : NEITHER;
    }
    if (*of_mapping == 0) {
        const char *path = profile_text(profile, profile_mapping_at(profile, mapping)->path);
        *of_mapping = blame_is_library("", "", path) ? ITEM_LIBRARY : NEITHER;
    }
    return (*of_function | *of_mapping) & (ITEM_LIBRARY | ITEM_ALLOCATOR | ITEM_WRAPPER);
}

/* Code without a name: its file and the place there, else the bare address. */
static void frame_unnamed(struct maker *maker, const struct profile_location *location,
                          const struct profile_mapping *mapping, struct view_frame *frame)
{
    uint64_t code = location->address;
    if (code > 0 && !(location->flags & LOCATION_EXACT))
        code--; /* of the call, not behind it */
    if (!view_by_has(maker->options.by, BY_CODE) && code >= mapping->start &&
        code - mapping->start >= location->behind)
        code -= location->behind; /* one row for all of a function */
    frame->flags |= FRAME_UNNAMED;
    if (location->address == 0)
        frame->name = frame->module[0] ? name_base(frame->module) : "[unknown]";
    else if (frame->module[0] && code >= mapping->start)
        frame->name =
            kept(maker, arena_print(&maker->texts, "%s+0x%lx", name_base(frame->module),
                                    (unsigned long)(code - mapping->start + mapping->offset)));
    else
        frame->name = kept(maker, arena_print(&maker->texts, "0x%lx", (unsigned long)code));
}

/* A text that lives as long as the view. */
static const char *kept(struct maker *maker, const char *text)
{
    maker->failed |= text == NULL;
    return text ? text : "";
}

/* Keeps of a frame what tells it from others in this view. */
static void frame_coarsen(struct view_frame *frame, enum view_by by)
{
    bool unnamed = frame->flags & FRAME_UNNAMED;
    bool files = view_by_has(by, BY_FILES);
    if (!view_by_has(by, BY_ADDRESSES))
        frame->address = 0;
    if (view_by_has(by, BY_ANY_LINE))
        frame->line = 0;
    if (view_by_has(by, BY_ANY_NAME) && (frame->file[0] == '\0' || frame->line == 0))
        frame->file = frame->file[0] ? frame->file : frame->name;
    if (files || view_by_has(by, BY_MODULES)) {
        const char *module = frame->module[0] ? frame->module : "[unknown]";
        bool file = files && frame->file[0];
        frame->name = file ? frame->file : name_base(module);
        frame->file = file ? frame->file : "";
        frame->line = 0;
        frame->flags = unnamed && files ? FRAME_UNNAMED : 0;
    }
}

/* The number of the frame; one that is inlined in some places only is not marked so. */
static uint32_t frame_intern(struct maker *maker, const struct view_frame *frame)
{
    static const struct map_kind kind = {known_hash, known_same};
    struct view *view = maker->view;
    uint32_t number;
    if (!map_find_as(&maker->frames, maker, &kind, frame_hash(frame, maker->options.by), frame,
                     &number)) {
        maker->failed = true;
        return UINT32_MAX;
    }
    if (number != MAP_NONE) {
        if (!(frame->flags & FRAME_INLINED))
            view->frames[number].flags &= (uint8_t)~FRAME_INLINED;
        return number;
    }
    if (!maker_room(maker, &view->frames, sizeof *frame, view->frames_count, &maker->frames_room))
        return UINT32_MAX;
    view->frames[view->frames_count] = *frame;
    map_add(&maker->frames, (uint32_t)view->frames_count);
    return (uint32_t)view->frames_count++;
}

static uint64_t known_hash(const void *context, uint32_t number)
{
    const struct maker *maker = context;
    return frame_hash(&maker->view->frames[number], maker->options.by);
}

static uint64_t frame_hash(const struct view_frame *frame, enum view_by by)
{
    uint64_t hash = text_mix(0, view_by_has(by, BY_ANY_NAME) ? "" : frame->name);
    hash = text_mix(hash, name_base(frame->file));
    return map_mix(map_mix(hash, frame->line), frame->address);
}

static uint64_t text_mix(uint64_t hash, const char *text)
{
    return map_mix(hash, map_hash(text, strlen(text)));
}

static bool known_same(const void *context, uint32_t number, const void *key)
{
    const struct maker *maker = context;
    const struct view_frame *a = &maker->view->frames[number], *b = key;
    return a->line == b->line && a->address == b->address &&
           (view_by_has(maker->options.by, BY_ANY_NAME) || strcmp(a->name, b->name) == 0) &&
           strcmp(name_base(a->file), name_base(b->file)) == 0;
}

uint32_t frames_fold(const struct maker *maker, const struct source *source,
                     const struct path *path)
{
    const struct item *items = maker->items;
    const uint32_t *numbers = path->items + path->start;
    bool blame = maker->options.frames == VIEW_BLAME;
    uint32_t count = path->count, n = 0, more = 1, bit = blame ? ITEM_LIBRARY : ITEM_ALLOCATOR;
    while (maker->enter && n + 1 < count && items[numbers[n]].bits & ITEM_INSIDE &&
           items[numbers[n + 1]].bits & ITEM_INSIDE)
        n++;
    if (!maker->fold)
        return n;
    for (; n < count && more > 0; n += more)
        more = items[numbers[n]].bits & bit ? 1
               : blame                      ? nameless_end(maker, source, numbers + n, count - n)
                                            : 0;
    if (n == count)
        for (n = 0; n + 1 < count && items[numbers[n]].bits & ITEM_ALLOCATOR;)
            n++;
    return n;
}

/* How many nameless frames belong to the function with a name that called them, if that is in the
 * same file: what a stripped library has to show is what it exports. A wrapper goes with them; the
 * program's start is not blamed. */
static uint32_t nameless_end(const struct maker *maker, const struct source *source,
                             const uint32_t *numbers, uint32_t count)
{
    const struct item *items = maker->items;
    uint32_t n = 0;
    while (n < count && items[numbers[n]].bits & ITEM_NAMELESS &&
           !(items[numbers[n]].bits & ITEM_LIBRARY))
        n++;
    uint32_t bits = n < count ? items[numbers[n]].bits : 0;
    if (n == 0 || n == count || bits & ITEM_START ||
        (bits & (ITEM_LIBRARY | ITEM_WRAPPER)) == ITEM_LIBRARY)
        return 0;
    uint32_t file = path_of_item(source, &items[numbers[n]]);
    for (uint32_t i = 0; i < n; i++)
        if (file == 0 || path_of_item(source, &items[numbers[i]]) != file)
            return 0;
    return bits & ITEM_WRAPPER ? n + 1 : n;
}

static uint32_t path_of_item(const struct source *source, const struct item *item)
{
    const struct profile *profile = source->profile;
    uint32_t mapping = profile_location_at(profile, item->location)->mapping;
    return profile_mapping_at(profile, mapping)->path;
}

uint32_t frames_of_sample(struct maker *maker, struct source *source, size_t row)
{
    return maker->options.by == VIEW_SIZE
               ? frame_of_size(maker, source, row)
               : frame_of_thread(maker, source, source->profile->samples.label_sets[row]);
}

/* "48"; "458752-524287" for large blocks, which differ in size; "mean 96-103" if the profile has no
 * sizes at all. */
static uint32_t frame_of_size(struct maker *maker, struct source *source, size_t row)
{
    if (source->row_frames[row] != 0)
        return source->row_frames[row] - 1;
    struct block_size size = block_size_of(source->profile, row);
    struct view_frame frame = {.name = "[unknown]", .file = "", .module = ""};
    char name[64];
    if (size.bytes > 0 && size.min == size.max)
        snprintf(name, sizeof name, "%s%llu", source->sized ? "" : "mean ",
                 (unsigned long long)size.bytes);
    else
        snprintf(name, sizeof name, "%s%llu-%llu", source->sized ? "" : "mean ",
                 (unsigned long long)size.min, (unsigned long long)size.max);
    if (size.bytes > 0)
        frame.name = name;
    uint32_t number = frame_intern(maker, &frame);
    if (number != UINT32_MAX && maker->view->frames[number].name == name) /* a new one */
        maker->view->frames[number].name = kept(maker, arena_text(&maker->texts, name));
    if (number != UINT32_MAX)
        source->row_frames[row] = number + 1;
    return number;
}

static uint32_t frame_of_thread(struct maker *maker, struct source *source, uint32_t set)
{
    const struct profile *profile = source->profile;
    struct view_frame frame = {.name = "[unknown]", .file = "", .module = ""};
    if (source->set_frames[set] != 0)
        return source->set_frames[set] - 1;
    const struct profile_label *name = profile_label_of(profile, set, "thread");
    const struct profile_label *id = profile_label_of(profile, set, "thread_id");
    if (name && name->text && id && id->text == 0)
        frame.name = kept(maker, arena_print(&maker->texts, "%s %ld",
                                             profile_text(profile, name->text), (long)id->number));
    else if (name && name->text)
        frame.name = profile_text(profile, name->text);
    else if (name || id)
        frame.name =
            kept(maker, arena_print(&maker->texts, "%ld", (long)(id ? id->number : name->number)));
    uint32_t number = frame_intern(maker, &frame);
    if (number != UINT32_MAX)
        source->set_frames[set] = number + 1;
    return number;
}
