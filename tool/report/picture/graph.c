/* SPDX-License-Identifier: MIT */
/*
 * The call graph in the language of graphviz: boxes as large as what was allocated right there,
 * as warm as what passed through them; arrows as wide as what went that way, dotted where they
 * skip boxes that are not drawn.
 *
 * Other formats are made by graphviz itself, as a library that is opened only here.
 */
#include "tool/report/picture/graph.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report/picture/svg.h"

enum { LEVELS = 16 }; /* of warmth, in the dark theme */

/* graphviz, as far as it is used; its structures are none of our business. */
struct graphviz {
    void *(*context)(void);
    int (*free_context)(void *context);
    int (*layout)(void *context, void *graph, const char *engine);
    int (*free_layout)(void *context, void *graph);
    int (*render)(void *context, void *graph, const char *format, FILE *file);
    void *(*read)(const char *text);
    int (*close)(void *graph);
};

static bool dot_write(const struct view *view, const struct picture_options *options, FILE *file);
static void dot_text(FILE *file, const char *text);
static void dot_legend(const struct graph *graph, const char *title, FILE *file);
static const char *dot_value(char text[40], const struct view *view, double value);
static void dot_node(const struct graph *graph, size_t number, FILE *file);
static void dot_name(FILE *file, const char *name, unsigned columns);
static const char *dot_color(char text[8], const struct view *view, double share, bool border);
static const char *dot_mix(char text[8], double step, bool cold, bool line, bool dark);
static double dot_step(double share);
static const char *dot_class(char text[8], const struct view *view, double share);
static void dot_edge(const struct graph *graph, const struct graph_edge *edge, FILE *file);
static bool graphviz_open(struct graphviz *graphviz, struct view_error *error);
static bool layout_svg(const char *text, FILE *file, struct view_error *error);
static void style_put(FILE *file);

void picture_dot(const struct view *view, const struct picture_options *options, FILE *file)
{
    dot_write(view, options, file);
}

static bool dot_write(const struct view *view, const struct picture_options *options, FILE *file)
{
    struct graph graph;
    bool made = graph_make(&graph, view, options);
    if (made) {
        const char *title = options->title != NULL ? options->title : "memoir";
        fputs("digraph \"", file);
        dot_text(file, title);
        fputs("\" {\ngraph [bgcolor=\"#ffffff\",nodesep=0.3,ranksep=0.45,pad=0.25];\n"
              "node [shape=box,style=\"filled,rounded\",fontname=\"Helvetica\",penwidth=1,"
              "fontcolor=\"#1c2127\",margin=\"0.12,0.06\",height=0.2];\n"
              "edge [fontname=\"Helvetica\",fontsize=9,fontcolor=\"#5b636e\",arrowsize=0.6];\n",
              file);
        dot_legend(&graph, title, file);
        for (size_t i = 0; i < graph.nodes_count; i++)
            dot_node(&graph, i, file);
        for (size_t i = 0; i < graph.edges_count; i++)
            if (!graph.edges[i].hidden)
                dot_edge(&graph, &graph.edges[i], file);
        fputs("}\n", file);
    }
    graph_free(&graph);
    return made;
}

/* Inside the quotes of a string; lines end by \n, which is dot's as well. */
static void dot_text(FILE *file, const char *text)
{
    for (unsigned length; *text != '\0'; text += length > 0 ? length : 1) {
        unsigned char c = (unsigned char)*text;
        length = json_character(text);
        if (length > 1)
            fwrite(text, 1, length, file);
        else if (c == '\n')
            fputs("\\n", file);
        else if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else
            fputc(c < 0x20 || c >= 0x7f ? '?' : c, file);
    }
}

static void dot_legend(const struct graph *graph, const char *title, FILE *file)
{
    const struct view *view = graph->view;
    const struct profile_type *type = &view->profile->type[view->options.type];
    char value[40], plain[32], share[16];
    double shown = 0;
    for (size_t i = 0; i < graph->nodes_count; i++)
        shown += graph_weight(view, &graph->nodes[i].row.self);
    fputs("L [shape=box,style=\"filled\",fillcolor=\"#ffffff\",color=\"#c8ccd1\",fontsize=13,"
          "class=\"legend\",margin=\"0.2,0.12\",label=\"",
          file);
    dot_text(file, title);
    fputs("\\l", file);
    if (view->options.type < view->profile->types)
        dot_text(file, profile_text(view->profile, type->name));
    if (view->base != NULL)
        fprintf(file, ": change %s, from %s",
                dot_value(value, view, graph_weight(view, &view->total)),
                style_value(plain, (double)view->total.base, view->unit));
    else
        fprintf(file, ": %s", style_value(plain, (double)view->total.value, view->unit));
    fprintf(file, "\\l%zu of %zu boxes, which allocated %s of it themselves\\l", graph->nodes_count,
            graph->nodes_all, style_share(share, shown, graph_weight(view, &view->total)));
    fprintf(file, "Left out: boxes under %s", style_value(plain, graph->node_min, view->unit));
    fprintf(file, ", calls under %s\\l", style_value(plain, graph->edge_min, view->unit));
    fprintf(file, "In a box: self of total\\l\"];\n");
}

static const char *dot_value(char text[40], const struct view *view, double value)
{
    char plain[32];
    snprintf(text, 40, "%s%s", view->base != NULL && value > 0 ? "+" : "",
             style_value(plain, value, view->unit));
    return text;
}

static void dot_node(const struct graph *graph, size_t number, FILE *file)
{
    const struct view *view = graph->view;
    const struct view_row *row = &graph->nodes[number].row;
    const struct view_frame *frame = &view->frames[row->frame];
    double self = graph_weight(view, &row->self), total = graph_weight(view, &row->total);
    double self_share = graph->total > 0 ? fabs(self) / graph->total : 0;
    char value[40], share[16], fill[8], line[8], class[8], place[300] = "";
    fprintf(file, "N%zu [label=\"", number + 1);
    if (frame->flags & FRAME_GUESS && frame->name[0] != '~')
        fputc('~', file);
    dot_name(file, frame->name, 64);
    bool places = view->options.by == VIEW_SITE || view->options.by == VIEW_LINE;
    if (places && frame->file[0] != '\0')
        snprintf(place, sizeof place, "%.200s:%u", name_base(frame->file), frame->line);
    if (place[0] != '\0' && view->options.by == VIEW_SITE) {
        fputs("\\n", file);
        dot_text(file, place);
    }
    if (self != 0)
        fprintf(file, "\\n%s (%s)", dot_value(value, view, self),
                style_share(share, self, graph->total));
    if (total != self)
        fprintf(file, "\\nof %s (%s)", dot_value(value, view, total),
                style_share(share, total, graph->total));
    double warmth = graph->total > 0 ? total / graph->total : 0;
    fprintf(file, "\",fontsize=%d,fillcolor=\"%s\",color=\"%s\",class=\"%s\",tooltip=\"",
            9 + (int)ceil(13 * sqrt(self_share)), dot_color(fill, view, warmth, false),
            dot_color(line, view, warmth, true), dot_class(class, view, warmth));
    dot_text(file, frame->name);
    fprintf(file, " (%s)\"];\n", dot_value(value, view, total));
}

/* A name in lines of bearable length: broken behind ::, not inside of arguments. */
static void dot_name(FILE *file, const char *name, unsigned columns)
{
    char text[SVG_NAME_MAX], broken[2 * SVG_NAME_MAX];
    name = svg_name(text, name, columns);
    size_t used = 0, line = 0, depth = 0;
    for (const char *at = name; *at != '\0' && used + 2 < sizeof broken; at++) {
        broken[used++] = *at;
        line++;
        depth += *at == '<' || *at == '(';
        depth -= depth > 0 && (*at == '>' || *at == ')');
        bool joint = at > name && at[0] == ':' && at[-1] == ':';
        if (joint && depth == 0 && line + strcspn(at + 1, ":") > 26) {
            broken[used++] = '\n';
            line = 0;
        }
    }
    broken[used] = '\0';
    dot_text(file, broken);
}

/* By the share: of warmth, or of growth and shrinking. */
static const char *dot_color(char text[8], const struct view *view, double share, bool border)
{
    return dot_mix(text, dot_step(share), share < 0 && view->base != NULL, border, false);
}

/* A colour between two, of a box or of a line; towards blue with `cold`. */
static const char *dot_mix(char text[8], double step, bool cold, bool line, bool dark)
{
    static const unsigned char from[2][2][3] = {{{246, 246, 244}, {178, 180, 182}},
                                                {{38, 42, 48}, {92, 98, 106}}};
    static const unsigned char to[2][2][2][3] = {
        {{{240, 160, 130}, {190, 70, 40}}, {{140, 180, 225}, {40, 95, 170}}},
        {{{140, 58, 34}, {240, 140, 104}}, {{34, 78, 132}, {120, 172, 236}}}};
    unsigned part[3];
    for (unsigned i = 0; i < 3; i++)
        part[i] = (unsigned)lround(from[dark][line][i] +
                                   step * (to[dark][cold][line][i] - from[dark][line][i])) &
                  255;
    snprintf(text, 8, "#%02x%02x%02x", part[0], part[1], part[2]);
    return text;
}

static double dot_step(double share)
{
    return fmin(1, pow(fabs(share), 0.6));
}

/* The class of the same, for style sheets: w0 to w16, c0 to c16. */
static const char *dot_class(char text[8], const struct view *view, double share)
{
    snprintf(text, 8, "%c%ld", share < 0 && view->base != NULL ? 'c' : 'w',
             lround(dot_step(share) * LEVELS) & 31);
    return text;
}

static void dot_edge(const struct graph *graph, const struct graph_edge *edge, FILE *file)
{
    const struct view *view = graph->view;
    double weight = graph_weight(view, &edge->sum);
    double share = graph->total > 0 ? fabs(weight) / graph->total : 0;
    double warmth = graph->total > 0 ? weight / graph->total : 0;
    char value[40], color[8], class[8];
    fprintf(file,
            "N%u -> N%u [label=\" %s%s\",weight=%d,penwidth=%.2f,color=\"%s\",class=\"%s\"%s,"
            "tooltip=\"",
            edge->caller + 1, edge->callee + 1, dot_value(value, view, weight),
            edge->inlined && !edge->residual ? "\\n (inlined)" : "", 1 + (int)(share * 100),
            0.7 + 4.3 * fmin(1, share), dot_color(color, view, warmth, true),
            dot_class(class, view, warmth), edge->residual ? ",style=dotted" : "");
    dot_text(file, view->frames[graph->nodes[edge->caller].row.frame].name);
    fputs(edge->residual ? " ... " : " -> ", file);
    dot_text(file, view->frames[graph->nodes[edge->callee].row.frame].name);
    fprintf(file, " (%s)\"];\n", value);
}

bool picture_layout(const char *text, enum picture_format format, FILE *file,
                    struct view_error *error)
{
    struct graphviz graphviz;
    if (!graphviz_open(&graphviz, error))
        return false;
    void *context = graphviz.context();
    void *graph = context != NULL ? graphviz.read(text) : NULL;
    bool placed = graph != NULL && graphviz.layout(context, graph, "dot") == 0;
    /* graphviz's own PostScript knows no characters beyond Latin 1, that of cairo does. */
    bool postscript = format == PICTURE_PS;
    const char *word = picture_format_word(format);
    bool drawn =
        placed && (graphviz.render(context, graph, postscript ? "ps:cairo" : word, file) == 0 ||
                   (postscript && graphviz.render(context, graph, word, file) == 0));
    if (!drawn)
        snprintf(error->text, sizeof error->text,
                 "graphviz can't %s; are its plugins installed (libgvc6-plugins-gtk, graphviz)?",
                 placed ? "write this format" : "place the graph");
    if (placed)
        graphviz.free_layout(context, graph);
    if (graph != NULL)
        graphviz.close(graph);
    if (context != NULL)
        graphviz.free_context(context);
    return drawn;
}

static bool graphviz_open(struct graphviz *graphviz, struct view_error *error)
{
    void *layout = dlopen("libgvc.so.6", RTLD_NOW | RTLD_GLOBAL);
    void *graphs = layout != NULL ? dlopen("libcgraph.so.6", RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (graphs == NULL) {
        snprintf(error->text, sizeof error->text,
                 "graphs need graphviz, which is not installed (%s); install libgvc6 "
                 "(Debian, Ubuntu) or graphviz, or write a .dot",
                 dlerror());
        return false;
    }
    struct {
        void *library;
        const char *name;
        void *place;
    } const wanted[] = {
        {layout, "gvContext", &graphviz->context},
        {layout, "gvFreeContext", &graphviz->free_context},
        {layout, "gvLayout", &graphviz->layout},
        {layout, "gvFreeLayout", &graphviz->free_layout},
        {layout, "gvRender", &graphviz->render},
        {graphs, "agmemread", &graphviz->read},
        {graphs, "agclose", &graphviz->close},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(wanted[i].library, wanted[i].name);
        if (found == NULL) {
            snprintf(error->text, sizeof error->text, "this graphviz has no %s", wanted[i].name);
            return false;
        }
        memcpy(wanted[i].place, &found, sizeof found);
    }
    return true;
}

bool picture_graph(const struct view *view, const struct picture_options *options,
                   enum picture_format format, FILE *file, struct view_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    bool written = memory != NULL && dot_write(view, options, memory);
    if (memory != NULL && fclose(memory) != 0)
        written = false;
    if (!written)
        view_out_of_memory(error);
    bool svg = format == PICTURE_SVG;
    bool drawn = written &&
                 (svg ? layout_svg(text, file, error) : picture_layout(text, format, file, error));
    free(text);
    return drawn;
}

/* graphviz's SVG, with a dark theme in it. */
static bool layout_svg(const char *text, FILE *file, struct view_error *error)
{
    char *svg = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&svg, &size);
    bool drawn = memory != NULL && picture_layout(text, PICTURE_SVG, memory, error);
    if (memory == NULL || fclose(memory) != 0)
        drawn = false;
    const char *root = drawn ? strstr(svg, "<svg") : NULL;
    const char *inside = root != NULL ? strchr(root, '>') : NULL;
    if (inside != NULL) {
        fwrite(svg, 1, (size_t)(inside + 1 - svg), file);
        fputc('\n', file);
        style_put(file);
        fputs(inside + 1, file);
    } else if (drawn) {
        fputs(svg, file);
    }
    free(svg);
    return drawn;
}

/* graphviz writes colours into each element; in the dark, a style sheet overrules them. */
static void style_put(FILE *file)
{
    char fill[8], line[8];
    fputs("<style>@media (prefers-color-scheme:dark){svg{background:#15171b}"
          ".graph>polygon{fill:#15171b}text{fill:#f1f2f4}.edge text{fill:#aab2bd}"
          ".node.legend polygon{fill:#1d2025;stroke:#4a515b}",
          file);
    for (unsigned cold = 0; cold < 2; cold++)
        for (unsigned level = 0; level <= LEVELS; level++) {
            double step = (double)level / LEVELS;
            char name = cold ? 'c' : 'w';
            dot_mix(fill, step, cold, false, true);
            dot_mix(line, step, cold, true, true);
            fprintf(file, ".node.%c%u path{fill:%s;stroke:%s}", name, level, fill, line);
            fprintf(file, ".edge.%c%u path{stroke:%s}.edge.%c%u polygon{fill:%s;stroke:%s}", name,
                    level, line, name, level, line, line);
        }
    fputs("}</style>\n", file);
}
