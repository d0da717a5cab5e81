/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/picture/flame_data.h. Frames are known by what is shown of them, texts included,
 * because views come and go. Modules get colours by the area of their boxes: the largest ones one
 * each, all others share the last. Numbers of nodes are written in base 36 with empty fields for 0,
 * which keeps a page small.
 */
#include "tool/report/picture/flame_data.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/picture/svg.h"

enum { NAME_COLUMNS = 300 }; /* wider than any box is drawn */

struct nodes_context {
    struct flame_data *data;
    const struct view *view;
    const struct flame_tree *tree;
    FILE *file;
};

static uint64_t known_hash(const void *context, uint32_t number);
static uint64_t data_hash(const struct flame_data_frame *frame);
static bool known_same(const void *context, uint32_t number, const void *key);
static uint32_t data_module(struct flame_data *data, const char *path);
static const char *data_text(struct flame_data *data, const char *text);
static int module_compare(const void *left, const void *right);
static void frame_class(const struct flame_module *module, const char *name, char text[16]);
static void frame_write(struct json *json, const char *name, const char *place, int64_t module,
                        unsigned flags, const char *class);
static void put_node(void *context, const struct flame_node *node, double left, unsigned up);
static void put_base36(FILE *file, int64_t number);

uint32_t flame_data_frame(struct flame_data *data, const struct view_frame *frame)
{
    static const struct map_kind kind = {known_hash, known_same};
    struct flame_data_frame wanted = {
        .name = frame->name, .file = frame->file, .line = frame->line, .flags = frame->flags};
    uint32_t number;
    wanted.module = data_module(data, frame->module);
    if (!map_find_as(&data->known, data, &kind, data_hash(&wanted), &wanted, &number) ||
        !list_reserve(&data->frames, &data->room, data->count + 1u, sizeof *data->frames)) {
        data->failed = true;
        return 1;
    }
    if (number != MAP_NONE)
        return number + 2;
    wanted.name = data_text(data, wanted.name);
    wanted.file = data_text(data, wanted.file);
    data->frames[data->count] = wanted;
    map_add(&data->known, data->count);
    return ++data->count + 1;
}

static uint64_t known_hash(const void *context, uint32_t number)
{
    return data_hash(&((const struct flame_data *)context)->frames[number]);
}

static uint64_t data_hash(const struct flame_data_frame *frame)
{
    uint64_t hash = map_mix(0, map_hash(frame->name, strlen(frame->name)));
    hash = map_mix(hash, map_hash(frame->file, strlen(frame->file)));
    return map_mix(map_mix(hash, frame->line), frame->flags);
}

static bool known_same(const void *context, uint32_t number, const void *key)
{
    const struct flame_data_frame *one = &((const struct flame_data *)context)->frames[number];
    const struct flame_data_frame *other = key;
    return one->line == other->line && one->module == other->module && one->flags == other->flags &&
           strcmp(one->name, other->name) == 0 && strcmp(one->file, other->file) == 0;
}

/* Where there are very many, the last of them is no module, which has the frames of all others. */
static uint32_t data_module(struct flame_data *data, const char *path)
{
    for (unsigned i = 0; i < data->modules_count; i++)
        if (strcmp(data->modules[i].path, path) == 0)
            return i;
    if (data->modules_count >= FLAME_MODULES_MAX - 1 && path[0] != '\0')
        return data_module(data, "");
    data->modules[data->modules_count] = (struct flame_module){.path = data_text(data, path)};
    return data->modules_count++;
}

static const char *data_text(struct flame_data *data, const char *text)
{
    const char *copy = text[0] != '\0' ? arena_text(&data->texts, text) : "";
    data->failed |= copy == NULL;
    return copy ? copy : "";
}

void flame_data_free(struct flame_data *data)
{
    arena_free(&data->texts);
    map_free(&data->known);
    free(data->frames);
    memset(data, 0, sizeof *data);
}

void flame_data_add(struct flame_data *data, const struct view *view, const struct flame_tree *tree)
{
    double whole = tree->nodes[0].width;
    for (uint32_t i = 1; i < tree->count && whole > 0; i++) {
        const struct flame_node *node = &tree->nodes[i];
        if (node->frame == FLAME_REST)
            continue;
        flame_data_frame(data, &view->frames[node->frame]);
        uint32_t module = data_module(data, view->frames[node->frame].module);
        data->modules[module].area += node->width / whole;
    }
}

void flame_data_rank(struct flame_data *data)
{
    uint32_t now[FLAME_MODULES_MAX] = {0};
    for (unsigned i = 0; i < data->modules_count; i++)
        data->modules[i].was = i;
    qsort(data->modules, data->modules_count, sizeof *data->modules, module_compare);
    for (unsigned i = 0; i < data->modules_count; i++) {
        struct flame_module *module = &data->modules[i];
        bool named = module->path[0] != '\0' || data->modules_count == 1;
        now[module->was] = i;
        module->family = named && i < SVG_FAMILIES - 1 ? i : SVG_FAMILIES - 1;
    }
    for (uint32_t i = 0; i < data->count; i++)
        data->frames[i].module = now[data->frames[i].module];
}

static int module_compare(const void *left, const void *right)
{
    const struct flame_module *a = left, *b = right;
    if ((a->path[0] == '\0') != (b->path[0] == '\0'))
        return a->path[0] == '\0' ? 1 : -1;
    if (a->area != b->area)
        return a->area > b->area ? -1 : 1;
    return strcmp(a->path, b->path);
}

void flame_data_class(const struct flame_data *data, const struct view *view,
                      const struct flame_node *node, char text[16])
{
    unsigned module = 0;
    if (node->frame == FLAME_ALL || node->frame == FLAME_REST) {
        snprintf(text, 16, "c72");
        return;
    }
    const struct view_frame *frame = &view->frames[node->frame];
    while (module + 1 < data->modules_count &&
           strcmp(data->modules[module].path, frame->module) != 0)
        module++;
    frame_class(&data->modules[module], frame->name, text);
}

static void frame_class(const struct flame_module *module, const char *name, char text[16])
{
    snprintf(text, 16, "c%u%u", module->family, svg_hash(name) % SVG_SHADES);
}

void flame_data_write(const struct flame_data *data, struct json *json)
{
    json_array(json, "modules");
    for (unsigned i = 0; i < data->modules_count; i++)
        json_text(json, NULL, name_base(data->modules[i].path));
    json_end(json);
    json_array(json, "frames");
    frame_write(json, "all", "", -1, 0, "c72");
    frame_write(json, "\xe2\x80\xa6 smaller ones", "", -1, 0, "c72");
    for (uint32_t i = 0; i < data->count; i++) {
        const struct flame_data_frame *frame = &data->frames[i];
        char class[16], text[SVG_NAME_MAX], place[1024] = "";
        frame_class(&data->modules[frame->module], frame->name, class);
        if (frame->file[0] != '\0')
            snprintf(place, sizeof place, frame->line != 0 ? "%s:%u" : "%s", frame->file,
                     frame->line);
        frame_write(json, svg_name(text, frame->name, NAME_COLUMNS), place, frame->module,
                    frame->flags, class);
    }
    json_end(json);
}

/* [name, place, module, flags, class] */
static void frame_write(struct json *json, const char *name, const char *place, int64_t module,
                        unsigned flags, const char *class)
{
    json_array(json, NULL);
    json_text(json, NULL, name);
    json_text(json, NULL, place);
    json_number(json, NULL, module);
    json_number(json, NULL, flags);
    json_text(json, NULL, class);
    json_end(json);
}

void flame_data_nodes(struct flame_data *data, const struct view *view,
                      const struct flame_tree *tree, FILE *file)
{
    struct nodes_context context = {data, view, tree, file};
    if (!flame_tree_walk(tree, put_node, &context))
        data->failed = true;
}

static void put_node(void *context, const struct flame_node *node, double left, unsigned up)
{
    struct nodes_context *to = context;
    (void)left;
    int64_t frame = node->frame == FLAME_ALL ? 0
                    : node->frame == FLAME_REST
                        ? 1
                        : flame_data_frame(to->data, &to->view->frames[node->frame]);
    int64_t plain[] = {up, frame, node->sum.value, node->sum.objects, node->more};
    for (unsigned i = 0; i < 5; i++) {
        if (i > 0)
            fputc(',', to->file);
        put_base36(to->file, plain[i]);
    }
    if (to->tree->compared) {
        int64_t more[] = {node->width < 9e18 ? (int64_t)node->width : INT64_MAX, node->sum.base,
                          node->sum.base_objects, flame_tree_level(to->tree, node)};
        for (unsigned i = 0; i < 4; i++) {
            fputc(',', to->file);
            put_base36(to->file, more[i]);
        }
    }
    fputc(' ', to->file);
}

static void put_base36(FILE *file, int64_t number)
{
    char text[16];
    unsigned at = sizeof text;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    for (; left > 0; left /= 36)
        text[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[left % 36];
    if (number < 0)
        fputc('-', file);
    fwrite(text + at, 1, sizeof text - at, file);
}
