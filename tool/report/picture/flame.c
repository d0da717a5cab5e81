/* SPDX-License-Identifier: MIT */
/*
 * The flame graph: one SVG that needs nothing else. What is in the file twice is meant to be: plain
 * boxes for viewers that run no scripts (an <img>, a converter), limited in number; and the data
 * in a short form, from which flame.js draws again after each zoom and search, finer than the
 * plain boxes.
 *
 *      title                                              search field (flame.js)
 *      metric, total                                      what was found
 *      legend
 *      boxes
 *
 * In a comparison red is more and blue is less than before, grey the same or within what sampling
 * explains; the hatched end of a box is what is gone, and a vanished stack is hatched as a whole.
 */
#include "tool/report/picture/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/report/picture/flame_data.h"
#include "tool/report/picture/svg.h"
#include "tool/report/report.h"

/* flame.js and flame_alone.js, by the build. */
extern const char flame_script[], flame_alone_script[];

enum {
    FLAME_ROW = 18,
    FLAME_TOP = 84, /* of the boxes */
    FLAME_SIDE = 12,
    FLAME_BOXES_MAX = 60000, /* in the data */
    FLAME_PLAIN_MAX = 8000,  /* as elements */
};

static const double flame_character = 6.63; /* pixels, of a monospaced font of 11 pixels */

struct flame {
    const struct view *view;
    struct picture_options options;
    struct flame_tree tree;
    FILE *file;
    unsigned width, height;
    double scale;     /* pixels of one unit */
    double plain_min; /* width of the thinnest plain box */
    struct flame_data data;
    bool memory;
};

static void flame_plain_choose(struct flame *flame);
static void flame_head(struct flame *flame);
static void flame_levels_style(FILE *file);
static void flame_legend(struct flame *flame);
static void flame_plain(void *context, const struct flame_node *node, double left, unsigned up);
static void flame_box(struct flame *flame, const struct flame_node *node, double x);
static void flame_title(struct flame *flame, const struct flame_node *node);
static const char *flame_node_name(const struct flame *flame, const struct flame_node *node);
static void flame_script_write(struct flame *flame);

void picture_flame(const struct view *view, const struct picture_options *options, FILE *file)
{
    struct flame flame = {.view = view, .options = *options, .file = file};
    flame.width = options->width == 0 ? 1200 : options->width < 400 ? 400 : options->width;
    flame.memory = view->profile->kind == PROFILE_HEAP || view->profile->kind == PROFILE_GROWTH;
    double room = flame.width - 2.0 * FLAME_SIDE;
    bool made =
        flame_tree_make(&flame.tree, view, options->reversed, 0.1 / room / 8, FLAME_BOXES_MAX);
    if (made) {
        double all = flame.tree.nodes[0].width;
        flame.scale = all > 0 ? room / all : 0;
        flame.height = FLAME_TOP + (flame.tree.depth + 1) * FLAME_ROW + FLAME_SIDE;
        flame_plain_choose(&flame);
        flame_data_add(&flame.data, view, &flame.tree);
        flame_data_rank(&flame.data);
        made = !flame.data.failed;
    }
    if (made) {
        flame_head(&flame);
        flame_legend(&flame);
        fputs("</g>\n<g id=\"boxes\">\n", file);
        if (flame.scale > 0)
            flame_tree_walk(&flame.tree, flame_plain, &flame);
        else
            fprintf(file, "<text class=\"tx\" x=\"%d\" y=\"%d\">No values to draw.</text>",
                    FLAME_SIDE, FLAME_TOP + 13);
        fputs("</g>\n", file);
        if (flame.scale > 0)
            flame_script_write(&flame);
        fputs("</svg>\n", file);
    } else {
        shortage_note();
    }
    flame_data_free(&flame.data);
    flame_tree_free(&flame.tree);
}

/* The plain boxes are the widest ones. */
static void flame_plain_choose(struct flame *flame)
{
    const struct flame_tree *tree = &flame->tree;
    flame->plain_min = 0.1 / flame->scale;
    for (uint32_t above = tree->count; above > FLAME_PLAIN_MAX;) {
        flame->plain_min *= 1.5;
        above = 0;
        for (uint32_t i = 0; i < tree->count; i++)
            above += tree->nodes[i].width >= flame->plain_min;
    }
}

static void flame_head(struct flame *flame)
{
    FILE *file = flame->file;
    const struct view *view = flame->view;
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\" role=\"img\">\n<style>\n",
            flame->width, flame->height, flame->width, flame->height);
    svg_style(file, flame->memory);
    if (flame->tree.compared)
        flame_levels_style(file);
    fputs("text{font:11px ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',"
          "'Liberation Mono',monospace}"
          ".ui text,.hd{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
          ".hd{font-size:17px;font-weight:600}.dim rect{opacity:.6}"
          ".out rect{opacity:.4}.out text{opacity:.8}"
          "#boxes g{cursor:pointer}#boxes text{pointer-events:none}\n</style>\n"
          "<defs><pattern id=\"gone\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><line class=\"gone\" y2=\"6\" stroke-width=\"2.4\" "
          "stroke-opacity=\".4\"/></pattern></defs>\n",
          file);
    fprintf(file,
            "<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n<g id=\"head\">"
            "<rect class=\"bg\" width=\"100%%\" height=\"78\"/>\n<text class=\"hd\" "
            "x=\"%d\" y=\"28\">",
            FLAME_SIDE);
    const char *title = flame->options.title;
    svg_text(file, title != NULL && title[0] != '\0' ? title : "Flame graph");
    fprintf(file, "</text>\n<g class=\"ui\"><text id=\"subtitle\" class=\"sub\" x=\"%d\" y=\"47\">",
            FLAME_SIDE);
    svg_text(file, table_metric(view));
    char value[32];
    const struct view_value *sum = &flame->tree.nodes[0].sum;
    if (flame->tree.compared)
        fprintf(file, " \xc2\xb7 %s before", style_value(value, (double)sum->base, view->unit));
    fprintf(file, " \xc2\xb7 %s%s", style_value(value, (double)sum->value, view->unit),
            flame->tree.compared ? " now" : "");
    if (!flame->tree.compared && sum->objects > 0)
        fprintf(file, " in %s %s", style_value(value, (double)sum->objects, UNIT_COUNT),
                table_objects(view));
    if (flame->options.reversed)
        fputs(" \xc2\xb7 merged from the leaf", file);
    fputs("</text></g>\n", file);
}

/* The colours of levels, from little to much. */
static void flame_levels_style(FILE *file)
{
    char color[8];
    for (unsigned dark = 0; dark < 2; dark++) {
        fputs(dark ? "@media (prefers-color-scheme:dark){.gone{stroke:#e9ebee}"
                   : ".gone{stroke:#17202a}",
              file);
        for (unsigned less = 0; less < 2; less++)
            for (unsigned level = 0; level <= FLAME_LEVELS; level++)
                fprintf(file, ".%c%u{fill:%s}", less ? 'l' : 'g', level,
                        svg_level_color(color, dark, less, level));
        fputs(dark ? "}\n" : "\n", file);
    }
}

static void flame_legend(struct flame *flame)
{
    FILE *file = flame->file;
    double x = FLAME_SIDE;
    fputs("<g id=\"legend\" class=\"ui\">", file);
    static const char *const words[] = {"l5",   "",
                                        "l2",   "less than before",
                                        "g0",   "the same, or within the error of sampling",
                                        "g2",   "",
                                        "g5",   "more",
                                        "gone", "gone"};
    if (flame->tree.compared) {
        for (unsigned i = 0; i < sizeof words / sizeof words[0]; i += 2) {
            bool gone = strcmp(words[i], "gone") == 0;
            fprintf(file, "<rect class=\"%s\" x=\"%.0f\" y=\"60\" width=\"12\" height=\"12\"/>",
                    gone ? "g0" : words[i], x);
            if (gone)
                fprintf(
                    file,
                    "<rect fill=\"url(#gone)\" x=\"%.0f\" y=\"60\" width=\"12\" height=\"12\"/>",
                    x);
            fprintf(file, "<text class=\"sub\" x=\"%.0f\" y=\"70\">%s</text>", x + 16,
                    words[i + 1]);
            x += words[i + 1][0] == '\0' ? 14 : 34 + 6.2 * (double)strlen(words[i + 1]);
        }
        fputs("</g>\n", file);
        return;
    }
    const struct flame_module *modules = flame->data.modules;
    for (unsigned i = 0; i < flame->data.modules_count && i < SVG_FAMILIES; i++) {
        char text[SVG_NAME_MAX];
        bool rest = modules[i].family == SVG_FAMILIES - 1;
        const char *path = modules[i].path;
        const char *name = rest ? "others" : svg_name(text, name_base(path), 28);
        double next = x + 30 + 6.4 * svg_columns(name);
        if (name[0] == '\0' || next > flame->width - FLAME_SIDE)
            break;
        fprintf(file, "<rect class=\"c%u1\" x=\"%.0f\" y=\"60\" width=\"12\" height=\"12\"/>",
                modules[i].family, x);
        fprintf(file, "<text class=\"sub\" x=\"%.0f\" y=\"70\">", x + 16);
        svg_text(file, name);
        fputs("</text>", file);
        x = next;
        if (rest)
            break;
    }
    fputs("</g>\n", file);
}

static void flame_plain(void *context, const struct flame_node *node, double left, unsigned up)
{
    struct flame *flame = context;
    (void)up;
    if (node->width >= flame->plain_min)
        flame_box(flame, node, FLAME_SIDE + left * flame->scale);
}

static void flame_box(struct flame *flame, const struct flame_node *node, double x)
{
    FILE *file = flame->file;
    double width = node->width * flame->scale;
    unsigned row = flame->options.inverted ? node->depth : flame->tree.depth - node->depth;
    unsigned y = FLAME_TOP + row * FLAME_ROW;
    unsigned flags = 0;
    if (node->frame != FLAME_ALL && node->frame != FLAME_REST)
        flags = flame->view->frames[node->frame].flags;
    bool inlined = (flags & FRAME_INLINED) != 0;
    char class[16], text[SVG_NAME_MAX];
    if (flame->tree.compared) {
        int level = flame_tree_level(&flame->tree, node);
        snprintf(class, sizeof class, "%c%d", level < 0 ? 'l' : 'g', abs(level));
    } else {
        flame_data_class(&flame->data, flame->view, node, class);
    }
    fprintf(file, "<g%s>", flags & (FRAME_GUESS | FRAME_UNNAMED) ? " class=\"dim\"" : "");
    flame_title(flame, node);
    double shown = fmax(width - (width > 2 ? 0.6 : 0), 0.1);
    fprintf(file, "<rect class=\"%s\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>", class, x,
            y - (inlined && flame->options.inverted), shown, FLAME_ROW - 1 + inlined);
    double gone = (node->width - (double)node->sum.value) * flame->scale;
    if (flame->tree.compared && gone >= 0.5)
        fprintf(file,
                "<rect fill=\"url(#gone)\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>",
                x + width - gone, y, fmax(gone - 0.6, 0.1), FLAME_ROW - 1);
    unsigned columns = (unsigned)fmax(0, (width - 6) / flame_character);
    const char *name = flame_node_name(flame, node);
    if (columns < 5 && svg_columns(name) > columns)
        name = "";
    name = svg_name(text, name, columns);
    if (name[0] != '\0') {
        fprintf(file, "<text class=\"tx\" x=\"%.1f\" y=\"%u\">", x + 3, y + 13);
        svg_text(file, name);
        fputs("</text>", file);
    }
    fputs("</g>\n", file);
}

static void flame_title(struct flame *flame, const struct flame_node *node)
{
    FILE *file = flame->file;
    char value[32], share[16];
    fputs("<title>", file);
    svg_text(file, flame_node_name(flame, node));
    if (node->frame != FLAME_ALL && node->frame != FLAME_REST) {
        const struct view_frame *frame = &flame->view->frames[node->frame];
        if (frame->file[0] != '\0') {
            fputc(' ', file);
            svg_text(file, frame->file);
            if (frame->line != 0)
                fprintf(file, ":%u", frame->line);
        }
    }
    fprintf(file, " (%s, %s)</title>",
            style_value(value, (double)node->sum.value, flame->view->unit),
            style_share(share, node->width, flame->tree.nodes[0].width));
}

static const char *flame_node_name(const struct flame *flame, const struct flame_node *node)
{
    if (node->frame == FLAME_ALL)
        return "all";
    if (node->frame == FLAME_REST)
        return "\xe2\x80\xa6 smaller ones";
    return flame->view->frames[node->frame].name;
}

static void flame_script_write(struct flame *flame)
{
    FILE *file = flame->file;
    struct json json;
    fputs("<script type=\"application/json\" id=\"data\">", file);
    json_start(&json, file, false);
    json.embedded = true;
    json_object(&json, NULL);
    json_text(&json, "unit", flame->view->unit_name);
    json_flag(&json, "compared", flame->tree.compared);
    json_flag(&json, "inverted", flame->options.inverted);
    json_flag(&json, "reversed", flame->options.reversed);
    flame_data_write(&flame->data, &json);
    json_text_begin(&json, "nodes");
    flame_data_nodes(&flame->data, flame->view, &flame->tree, file);
    json_text_end(&json);
    json_end(&json);
    fprintf(file, "</script>\n<script><![CDATA[\n%s\n%s]]></script>\n", flame_script,
            flame_alone_script);
}
