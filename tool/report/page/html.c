/* SPDX-License-Identifier: MIT */
/*
 * The document around what html_metrics.c and html_leaks.c have made:
 *
 *      what was profiled, how exact that is, what is wrong with it
 *      a card for each metric, which chooses it          search field
 *      memory over time       (a plot)
 *      flame graph            (page.js)
 *      table of sites         (page.js; the first rows are there without it)
 *      leaks                  (a table that opens by itself)
 *      sizes                  (a plot)
 *
 * The policy of the page allows the two scripts by their hashes and nothing from anywhere else, so
 * that a name from a hostile profile could not run even if an escape were forgotten.
 */
#include "tool/report/page/html_sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "tool/report/picture/picture.h"
#include "tool/report/report.h"

/* flame.js, page.js and page.css with the SHA-256 of each, in hexadecimal, by the build. */
extern const char flame_script[], flame_script_sha256[], page_script[], page_script_sha256[],
    page_style[];

enum { PLOT_WIDE = 1120, PLOT_NARROW = 400 };

static void head_put(struct html *html);
static void hash_put(FILE *file, const char *hex);
static void title_put(struct html *html);
static void style_put(struct html *html);
static void colors_put(FILE *file, bool memory, bool dark);
static bool body_put(struct html *html);
static void facts_put(struct html *html);
static void fact_put(FILE *file, const char *key, const char *value);
static const char *build_of(const struct profile *profile);
static void exactness_put(const struct html *html);
static void notes_put(struct html *html);
static void cards_put(struct html *html);
static void card_note(struct html *html, const struct html_metric *metric);
static bool time_put(struct html *html);
static void plots_put(struct html *html, const struct view *view,
                      void (*draw)(const struct view *, const struct picture_options *, FILE *));
static void flame_put(struct html *html);
static void table_put(struct html *html);
static bool sizes_put(struct html *html);
static bool frag_put(struct html *html);
static bool threads_put(struct html *html);
static void data_put(struct html *html);

const struct view *html_past(struct html *html)
{
    struct view_options options = html->view;
    int type = profile_type_named(html->profile, TYPE_INUSE_SPACE);
    if (html->has_past)
        return &html->past;
    if (type >= 0)
        options.type = (unsigned)type;
    options.by = VIEW_SITE;
    options.past = true;
    options.apart = true; /* as for memoir leaks */
    options.age_min_us = options.age_max_us = 0;
    html->has_past = view_make(&html->past, html->profile, &options, html->error);
    return html->has_past ? &html->past : NULL;
}

bool html_write(const struct profile *profile, const struct view_options *view,
                const struct html_options *options, FILE *file, struct view_error *error)
{
    struct html html = {
        .profile = profile, .view = *view, .options = options, .file = file, .error = error};
    html.view.rows_only = html.view.past = false;
    bool ok = html_metrics_make(&html) && html_leaks_make(&html);
    flame_data_rank(&html.data);
    if (ok) {
        head_put(&html);
        ok = body_put(&html);
    }
    if (!ok && !error->text[0])
        view_out_of_memory(error);
    for (unsigned i = 0; i < HTML_METRICS_MAX; i++) {
        free(html.metrics[i].rows.text);
        free(html.metrics[i].plain.text);
        free(html.metrics[i].nodes.text);
    }
    free(html.leaks.text);
    view_free(&html.past);
    flame_data_free(&html.data);
    return ok;
}

static void head_put(struct html *html)
{
    FILE *file = html->file;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src",
          file);
    hash_put(file, flame_script_sha256);
    hash_put(file, page_script_sha256);
    fputs("\"/>\n<title>", file);
    title_put(html);
    fputs(" \xc2\xb7 memoir</title>\n", file);
    style_put(html);
    fputs("</head>\n", file);
}

static void hash_put(FILE *file, const char *hex)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[33] = {0};
    for (unsigned i = 0; i < 32; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    fputs(" 'sha256-", file);
    for (unsigned i = 0; i < 33; i += 3) {
        unsigned three = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | bytes[i + 2];
        for (unsigned k = 0; k < 4; k++)
            fputc(i == 30 && k == 3 ? '=' : digits[three >> (18 - 6 * k) & 63], file);
    }
    fputc('\'', file);
}

static void title_put(struct html *html)
{
    const struct profile *profile = html->profile;
    const char *program = profile_text(profile, profile->program);
    if (html->options->title)
        svg_text(html->file, html->options->title);
    else if (program[0])
        svg_text(html->file, name_base(program));
    else
        svg_text(html->file, name_base(html->options->name));
}

/* The colours of pictures as variables, so that a theme is a set of them; then the rules. */
static void style_put(struct html *html)
{
    FILE *file = html->file;
    bool memory = html->profile->kind == PROFILE_HEAP || html->profile->kind == PROFILE_GROWTH;
    fputs("<style>\n:root{", file);
    colors_put(file, memory, false);
    fputs("}\n@media (prefers-color-scheme:dark){:root:not([data-theme=light]){", file);
    colors_put(file, memory, true);
    fputs("}}\n:root[data-theme=dark]{", file);
    colors_put(file, memory, true);
    fputs("}\n", file);
    for (unsigned family = 0; family < SVG_FAMILIES; family++)
        for (unsigned shade = 0; shade < SVG_SHADES; shade++)
            fprintf(file, ".c%u%u{fill:var(--c%u%u)}", family, shade, family, shade);
    for (unsigned level = 0; level <= FLAME_LEVELS; level++)
        fprintf(file, ".g%u{fill:var(--g%u)}.l%u{fill:var(--l%u)}", level, level, level, level);
    fprintf(file, "\n%s</style>\n", page_style);
}

static void colors_put(FILE *file, bool memory, bool dark)
{
    char color[8];
    for (unsigned family = 0; family < SVG_FAMILIES; family++)
        for (unsigned shade = 0; shade < SVG_SHADES; shade++)
            fprintf(file, "--c%u%u:%s;", family, shade,
                    svg_color(color, memory, dark, family, shade));
    for (unsigned less = 0; less < 2; less++)
        for (unsigned level = 0; level <= FLAME_LEVELS; level++)
            fprintf(file, "--%c%u:%s;", less ? 'l' : 'g', level,
                    svg_level_color(color, dark, less, level));
}

static bool body_put(struct html *html)
{
    FILE *file = html->file;
    fputs("<body>\n<header>\n<h1>", file);
    title_put(html);
    fputs("</h1>\n", file);
    facts_put(html);
    notes_put(html);
    cards_put(html);
    fputs("</header>\n<div id=\"bar\" hidden=\"hidden\"><input type=\"search\" id=\"search\" "
          "placeholder=\"Search ( / ), regular expression\" aria-label=\"search\" "
          "spellcheck=\"false\" autocomplete=\"off\"/><output id=\"found\"></output>"
          "<button type=\"button\" id=\"theme\" title=\"t\">theme</button>"
          "<button type=\"button\" id=\"help\" title=\"?\">keys</button></div>\n<main>\n",
          file);
    if (!time_put(html))
        return false;
    flame_put(html);
    table_put(html);
    if (html->leaks.text)
        fprintf(file, "<section id=\"leaks\">\n%s</section>\n", html->leaks.text);
    if (!threads_put(html) || !sizes_put(html) || !frag_put(html))
        return false;
    fprintf(file,
            "</main>\n<footer>Made by memoir %s. This file needs no other and asks nothing of the "
            "network.</footer>\n<dialog id=\"keys\"></dialog>\n",
            html->options->version);
    data_put(html);
    fputs("</body>\n</html>\n", file);
    return true;
}

static void facts_put(struct html *html)
{
    FILE *file = html->file;
    const struct profile *profile = html->profile;
    char text[1200], when[64] = "", length[32] = "";
    time_t seconds = (time_t)(profile->time_ns / 1000000000);
    struct tm tm;
    fputs("<dl class=\"facts\">\n", file);
    fact_put(file, "command",
             profile_text(profile, profile->command ? profile->command : profile->program));
    if (profile->time_ns > 0 && gmtime_r(&seconds, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
    if (profile->duration_ns > 0)
        snprintf(length, sizeof length, "%s%s", when[0] ? ", for " : "",
                 style_time(text, profile->duration_ns));
    snprintf(text, sizeof text, "%s%s", when, length);
    fact_put(file, "recorded", text);
    text[0] = '\0';
    if (profile->host || profile->pid > 0)
        snprintf(text, sizeof text, "%.500s", profile_text(profile, profile->host));
    if (profile->pid > 0)
        snprintf(text + strlen(text), 64, "%sprocess %" PRId64, text[0] ? ", " : "", profile->pid);
    fact_put(file, "where", text);
    if (html->options->base_name)
        snprintf(text, sizeof text, "%.500s, compared with %.500s", html->options->name,
                 html->options->base_name);
    else
        snprintf(text, sizeof text, "%.500s (%s)", html->options->name, profile->format);
    fact_put(file, "input", text);
    fact_put(file, "build", build_of(profile));
    exactness_put(html);
    text[0] = '\0';
    if (profile->samples.count > 0)
        snprintf(text, sizeof text, "%.*f %% of frames named", html->unnamed > 0 ? 1 : 0,
                 100 * (1 - html->unnamed));
    fact_put(file, "names", text);
    fact_put(file, "filters", html->options->filters);
    fputs("</dl>\n", file);
}

static void fact_put(FILE *file, const char *key, const char *value)
{
    if (!value[0])
        return;
    fprintf(file, "<div><dt>%s</dt><dd>", key);
    svg_text(file, value);
    fputs("</dd></div>\n", file);
}

/* The build id of the program. */
static const char *build_of(const struct profile *profile)
{
    const struct profile_mapping *mappings = profile->mappings.items;
    const char *program = profile_text(profile, profile->program);
    for (size_t i = 1; program[0] && i < profile->mappings.count; i++)
        if (mappings[i].build_id && strcmp(profile_text(profile, mappings[i].path), program) == 0)
            return profile_text(profile, mappings[i].build_id);
    return "";
}

/* How the numbers came about. */
static void exactness_put(const struct html *html)
{
    const struct profile *profile = html->profile;
    char text[256] = "", size[32];
    enum value_unit unit = profile_unit(profile, profile->period_type);
    const struct view_value *total = &html->metrics[0].total;
    double error = view_error_share(total->value, total->variance);
    if (profile->counted && profile->samples.weights)
        snprintf(text, sizeof text,
                 "totals are counted, sites are estimates from samples, one in %s",
                 style_value(size, (double)profile->period, UNIT_BYTES));
    else if (profile->kind == PROFILE_HEAP && profile->period > 1 && unit == UNIT_BYTES)
        snprintf(text, sizeof text, "samples, one in %s: totals are estimates%s",
                 style_value(size, (double)profile->period, UNIT_BYTES),
                 error > 0.02 || total->value == 0 ? "" : ", within 2 %");
    else if (profile->samples.weights)
        snprintf(text, sizeof text, "samples: totals are estimates");
    else if (profile->kind == PROFILE_HEAP && (profile->traits & TRAIT_CAPTURE))
        snprintf(text, sizeof text, "every block was recorded");
    else if (profile->kind == PROFILE_CPU && profile->period > 0)
        snprintf(text, sizeof text, "samples, one every %s of CPU time",
                 style_value(size, (double)profile->period, unit));
    if (error > 0.02 && text[0])
        snprintf(text + strlen(text), sizeof text - strlen(text), " (\xc2\xb1%.0f %%)",
                 100 * error);
    if (profile->off_time_ns > 0)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%ssampling was turned off %s after the start", text[0] ? "; " : "",
                 style_time(size, profile->off_time_ns));
    const struct profile *base = html->view.base;
    if (base && base->samples.weights && !profile->samples.weights)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sthe base has samples",
                 text[0] ? ", " : "");
    fact_put(html->file, "exactness", text);
}

static void notes_put(struct html *html)
{
    FILE *file = html->file;
    if (html->options->notes_count == 0)
        return;
    fputs("<ul class=\"notes\">\n", file);
    for (size_t i = 0; i < html->options->notes_count; i++) {
        fputs("<li>", file);
        svg_text(file, html->options->notes[i].text);
        if (html->options->notes[i].fix[0]) {
            fputs(" <span class=\"fix\">\xe2\x86\x92 ", file);
            svg_text(file, html->options->notes[i].fix);
            fputs("</span>", file);
        }
        fputs("</li>\n", file);
    }
    fputs("</ul>\n", file);
}

/* One for each metric; with scripts, they choose it. */
static void cards_put(struct html *html)
{
    FILE *file = html->file;
    char text[32];
    fputs("<div id=\"metrics\" role=\"group\" aria-label=\"metric\">\n", file);
    for (unsigned i = 0; i < html->metrics_count; i++) {
        const struct html_metric *metric = &html->metrics[i];
        fprintf(file, "<button type=\"button\" class=\"card\" aria-pressed=\"%s\"><span>",
                i == 0 ? "true" : "false");
        svg_text(file, metric->title);
        fprintf(file, "</span><b>%s</b>",
                style_value(text, (double)metric->total.value, metric->unit));
        html_error(file, &metric->total);
        fputs("<small>", file);
        card_note(html, metric);
        fputs("</small></button>\n", file);
    }
    fputs("</div>\n", file);
}

/* "at 616 ms", "964 K calls": what a card has under its number. */
static void card_note(struct html *html, const struct html_metric *metric)
{
    const struct profile *profile = html->profile;
    char text[32], more[32];
    const struct view_value *total = &metric->total;
    if (html->view.base) {
        double change = (double)total->value - (double)total->base;
        fprintf(html->file, "was %s, %s%s", style_value(text, (double)total->base, metric->unit),
                change > 0 ? "+" : "", style_value(more, change, metric->unit));
        return;
    }
    if (strcmp(metric->key, TYPE_PEAK_SPACE) == 0 && profile->peak_time_ns >= 1000000)
        fprintf(html->file, "at %s", style_time(text, profile->peak_time_ns));
    else if (strcmp(metric->key, TYPE_INUSE_SPACE) == 0)
        fputs(profile->ended ? "at the end" : "when it was written", html->file);
    else if (strcmp(metric->key, HTML_SHORT_LIVED) == 0)
        fputs("that lived less than 1 ms", html->file);
    else if (total->objects == 0)
        fputs("in all", html->file);
    if (total->objects > 0 && strcmp(metric->key, TYPE_PEAK_SPACE) != 0 &&
        strcmp(metric->key, TYPE_INUSE_SPACE) != 0) {
        fprintf(html->file, "in %s ", style_value(text, (double)total->objects, UNIT_COUNT));
        svg_text(html->file, metric->things);
    }
}

static bool time_put(struct html *html)
{
    if (html->profile->points.count < 2 && html->profile->history_moments < 2)
        return true;
    const struct view *view = html_past(html);
    if (!view)
        return false;
    fputs("<section id=\"time\">\n<h2>Memory over time", html->file);
    if (html->options->base_name) {
        fputs(" <small>", html->file);
        svg_text(html->file, html->options->name);
        fputs("</small>", html->file);
    }
    fputs("</h2>\n", html->file);
    plots_put(html, view, picture_time);
    fputs("</section>\n", html->file);
    return true;
}

static void plots_put(struct html *html, const struct view *view,
                      void (*draw)(const struct view *, const struct picture_options *, FILE *))
{
    static const unsigned widths[] = {PLOT_WIDE, PLOT_NARROW};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        struct picture_options options = {.width = widths[i], .inside = true, .title = ""};
        fprintf(html->file, "<div class=\"plot %s\">\n", i == 0 ? "wide" : "narrow");
        draw(view, &options, html->file);
        fputs("</div>\n", html->file);
    }
}

static void flame_put(struct html *html)
{
    fputs("<section id=\"flame\">\n<h2>Flame graph <small id=\"flame-metric\"></small></h2>\n"
          "<div class=\"tools\" id=\"flame-tools\" hidden=\"hidden\">"
          "<button type=\"button\" id=\"turn\" aria-pressed=\"false\" title=\"i\">roots at the "
          "bottom</button>"
          "<button type=\"button\" id=\"leaf\" aria-pressed=\"false\" title=\"l\">from the "
          "leaf</button>"
          "<button type=\"button\" id=\"whole\" hidden=\"hidden\" title=\"Esc\">\xe2\x86\x90 whole "
          "graph</button><span id=\"legend\"></span></div>\n"
          "<div id=\"stage\" hidden=\"hidden\" tabindex=\"0\" role=\"group\" "
          "aria-label=\"flame graph: arrow keys move, Enter zooms\">"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"graph\" width=\"10\" height=\"10\" "
          "viewBox=\"0 0 10 10\"><defs><pattern id=\"gone\" width=\"6\" height=\"6\" "
          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><line class=\"gone\" "
          "y2=\"6\" stroke-width=\"2.4\" stroke-opacity=\".4\"/></pattern></defs>"
          "<g id=\"boxes\"></g></svg></div>\n"
          "<noscript><p>The flame graph and sorting need scripts, which are part of this file; "
          "nothing is loaded from anywhere.</p></noscript>\n"
          "<p class=\"quiet\" id=\"pruned\"></p>\n</section>\n",
          html->file);
}

static void table_put(struct html *html)
{
    const struct html_metric *first = &html->metrics[0];
    const char *const plain[][2] = {
        {"self", "num"},    {"", "num share"},           {"total", "num"},
        {"", "num share"},  {first->things, "num more"}, {"average", "num more"},
        {first->by, "site"}};
    const char *const compared[][2] = {{"before", "num"}, {"after", "num"}, {"change", "num"},
                                       {"", "num"},       {"", ""},         {first->by, "site"}};
    bool two = html->view.base != NULL;
    size_t count = two ? COUNT_OF(compared) : COUNT_OF(plain);
    FILE *file = html->file;
    fprintf(file,
            "<section id=\"top\">\n<h2>%s <small id=\"top-metric\"></small></h2>\n"
            "<table id=\"table\"><thead><tr>",
            two ? "What changed" : "Top sites");
    for (size_t i = 0; i < count; i++)
        fprintf(file, "<th scope=\"col\" class=\"%s\">%s</th>", two ? compared[i][1] : plain[i][1],
                two ? compared[i][0] : plain[i][0]);
    fprintf(file, "</tr></thead>\n<tbody>\n%s</tbody></table>\n<p class=\"quiet\" id=\"rest\">",
            html->metrics[0].plain.text);
    if (html->metrics[0].rows_count > HTML_PLAIN_ROWS)
        fprintf(file, "%zu more.", html->metrics[0].rows_count - HTML_PLAIN_ROWS);
    fprintf(file, "</p>\n<p class=\"quiet\">%s</p>\n</section>\n",
            two ? "\xe2\x96\xb2 more \xc2\xb7 \xe2\x96\xbc less \xc2\xb7 \xe2\x97\x8f new \xc2\xb7 "
                  "\xe2\x97\x8b gone \xc2\xb7 changes within the noise of sampling are grey"
            : html->profile->kind == PROFILE_HEAP
                ? "self: allocated at this site, library frames included \xc2\xb7 total: "
                  "with callees"
                : "self: in its own code \xc2\xb7 total: with callees");
}

static bool sizes_put(struct html *html)
{
    struct view view = {0};
    struct view_options options = html->view;
    options.base = NULL;
    options.by = VIEW_SITE;
    if (html->profile->kind != PROFILE_HEAP || html->metrics[0].total.value <= 0 ||
        html->metrics[0].unit != UNIT_BYTES ||
        profile_type_partner(html->profile, options.type) < 0)
        return true;
    if (!view_make(&view, html->profile, &options, html->error))
        return false;
    fputs("<section id=\"sizes\">\n<h2>Sizes of blocks <small>", html->file);
    svg_text(html->file, html->metrics[0].title);
    fputs("</small></h2>\n", html->file);
    plots_put(html, &view, picture_sizes);
    fputs("</section>\n", html->file);
    view_free(&view);
    return true;
}

static bool frag_put(struct html *html)
{
    struct view view = {0};
    struct view_options options = html->view;
    int type = profile_type_named(html->profile, TYPE_PINNED_SPACE);
    if (type < 0 || html->options->base_name)
        return true;
    options.by = VIEW_SITE;
    options.type = (unsigned)type;
    options.age_min_us = options.age_max_us = 0;
    if (!view_make(&view, html->profile, &options, html->error))
        return false;
    fputs("<section id=\"frag\">\n<h2>Nearly empty pages</h2>\n", html->file);
    plots_put(html, &view, picture_frag);
    fputs("<p class=\"quiet\">A span returns to the kernel with its last live block: a site pins "
          "its part of the spans that its blocks are in (memoir frag).</p>\n</section>\n",
          html->file);
    view_free(&view);
    return true;
}

static bool threads_put(struct html *html)
{
    struct view view = {0};
    struct view_options options = html->view;
    options.base = NULL;
    options.by = VIEW_SITE;
    if (html->profile->courses.count == 0 || html->options->base_name)
        return true;
    if (!view_make(&view, html->profile, &options, html->error))
        return false;
    fputs("<section id=\"threads\">\n<h2>Which thread ran when</h2>\n", html->file);
    plots_put(html, &view, picture_threads);
    fputs("<p class=\"quiet\">The height of a bar is the thread's share of one CPU (memoir "
          "threads).</p>\n</section>\n",
          html->file);
    view_free(&view);
    return true;
}

static void data_put(struct html *html)
{
    FILE *file = html->file;
    struct json json;
    fputs("<script type=\"application/json\" id=\"data\">", file);
    json_start(&json, file, false);
    json.embedded = true;
    json_object(&json, NULL);
    json_text(&json, "name", html->options->name);
    json_flag(&json, "two", html->view.base);
    json_flag(&json, "reversed", html->options->reversed);
    flame_data_write(&html->data, &json);
    json_array(&json, "metrics");
    for (unsigned i = 0; i < html->metrics_count; i++) {
        const struct html_metric *metric = &html->metrics[i];
        json_object(&json, NULL);
        json_text(&json, "key", metric->key);
        json_text(&json, "title", metric->title);
        json_text(&json, "unit", metric->unit_name);
        json_text(&json, "things", metric->things);
        json_text(&json, "by", metric->by);
        json_number(&json, "total", metric->total.value);
        json_number(&json, "base", metric->total.base);
        json_number(&json, "count", (int64_t)metric->rows_count);
        json_flag(&json, "compared", metric->compared);
        json_written(&json, "rows", metric->rows.text);
        json_text_begin(&json, "nodes");
        if (metric->nodes.text != NULL) /* or memory was out, which the command says at its end */
            fputs(metric->nodes.text, file);
        json_text_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fprintf(file, "</script>\n<script>%s</script>\n<script>%s</script>\n", flame_script,
            page_script);
}
