/* SPDX-License-Identifier: MIT */
/* The leaks of a page, or what is live where leaks can't be told: a table that needs no scripts. */
#include "tool/report/page/html_sections.h"

#include <inttypes.h>

#include "tool/report/report.h"

enum { LEAKS_MAX = 40, FRAMES_MAX = 40 }; /* as much as a reader scrolls through; --json has all */

static void table_put(FILE *file, const struct view *view, const struct leaks *leaks);
static const char *rule_sentence(const struct leaks *leaks, const struct view *view);
static void row_put(FILE *file, const struct view *view, const struct leaks_row *row);
static void course_put(FILE *file, const struct view *view, const struct leaks_row *row);
static void stack_put(FILE *file, const struct view *view, const struct leaks_row *row);

bool html_leaks_make(struct html *html)
{
    struct leaks leaks = {0};
    const struct profile *base = html->view.base;
    if (profile_type_named(html->profile, TYPE_INUSE_SPACE) < 0 ||
        html->profile->kind != PROFILE_HEAP ||
        (base && profile_type_named(base, TYPE_INUSE_SPACE) < 0))
        return true;
    const struct view *view = html_past(html);
    if (!view)
        return false;
    bool ok = leaks_make(&leaks, view, &(struct leaks_options){.rule = LEAKS_AUTO});
    if (ok && (leaks.rule != LEAKS_NONE || view->total.value > 0)) {
        ok = html_text_start(&html->leaks);
        if (ok)
            table_put(html->leaks.file, view, &leaks);
        ok = ok && html_text_end(&html->leaks);
    }
    leaks_free(&leaks);
    return ok;
}

static void table_put(FILE *file, const struct view *view, const struct leaks *leaks)
{
    char text[32];
    size_t max = leaks->rule == LEAKS_NONE ? leaks->count : leaks->found, shown = 0;
    bool none = leaks->rule == LEAKS_NONE;
    if (leaks->found == 0 && !none) {
        fprintf(file, "<h2>Leaks</h2>\n<p>None: %s</p>\n",
                leaks->rule == LEAKS_LOST
                    ? "the program was scanned, and every live block can be reached."
                : leaks->rule == LEAKS_EXIT
                    ? "every recorded block was freed, or is kept by a library on purpose."
                    : "no site grew beyond the noise of sampling.");
        return;
    }
    fprintf(file, "<h2>%s <small>%s at %zu %s</small></h2>\n<p>%s</p>\n",
            none ? "Live at the end" : "Leaks",
            style_value(text, (double)(none ? view->total.value : leaks->found_bytes), UNIT_BYTES),
            max, max == 1 ? "site" : "sites", rule_sentence(leaks, view));
    fprintf(file,
            "<table class=\"leaks\"><thead><tr><th class=\"num\">bytes</th><th class=\"num more\">"
            "objects</th><th>%s</th><th>site, and its largest stack</th></tr></thead>\n<tbody>\n",
            view->base ? "change" : "over time");
    for (; shown < max && shown < LEAKS_MAX; shown++)
        row_put(file, view, &leaks->rows[shown]);
    fputs("</tbody></table>\n", file);
    if (shown < max)
        fprintf(file, "<p class=\"quiet\">%zu smaller ones are left out.</p>\n", max - shown);
    if (leaks->suppressed > 0)
        fprintf(file,
                "<p class=\"quiet\">Left out: %zu %s that libraries keep on purpose "
                "(%s).</p>\n",
                leaks->suppressed, leaks->suppressed == 1 ? "stack" : "stacks",
                style_value(text, (double)leaks->suppressed_bytes, UNIT_BYTES));
}

static const char *rule_sentence(const struct leaks *leaks, const struct view *view)
{
    if (leaks->rule == LEAKS_LOST)
        return "The program was scanned: nothing points to these blocks any more.";
    if (leaks->rule == LEAKS_EXIT)
        return "Every block was recorded and the program exited normally: these were "
               "never freed.";
    if (leaks->rule == LEAKS_NONE)
        return "Samples of a single moment can't distinguish leaks from memory in "
               "use. The largest live sites:";
    return view->base ? "Sites that grew from the first profile to the second, beyond the noise of "
                        "sampling."
                      : "Sites that grew in the second half of the run, beyond the noise of "
                        "sampling.";
}

static void row_put(FILE *file, const struct view *view, const struct leaks_row *row)
{
    char text[32];
    fprintf(file, "<tr><td class=\"num\">%s",
            style_value(text, (double)row->value.value, view->unit));
    html_error(file, &row->value);
    fprintf(file, "</td><td class=\"num more\">%s</td><td class=\"course\">",
            row->value.objects > 0 ? question_count(text, (uint64_t)row->value.objects) : "");
    course_put(file, view, row);
    fputs("</td><td class=\"site\"><details><summary>", file);
    html_site(file, question_frame(view, row->frame));
    fputs("</summary>", file);
    stack_put(file, view, row);
    fputs("</details></td></tr>\n", file);
}

static void course_put(FILE *file, const struct view *view, const struct leaks_row *row)
{
    char first[32], last[32], rate[32];
    const char *shape = leaks_shape_word(row->shape);
    if (view->base) {
        fprintf(file, "%s%s", row->growth > 0 ? "+" : "",
                style_value(rate, row->growth, UNIT_BYTES));
        return;
    }
    if (row->shape != LEAKS_UNKNOWN)
        fprintf(file, "%s%s", leaks_grows(row) ? "\xe2\x97\xa2 " : "", shape);
    if (row->growth > 0)
        fprintf(file, ", %s/min", style_value(rate, row->growth * 60, UNIT_BYTES));
    if (row->first_ns >= 0)
        fprintf(file, " <span class=\"quiet\">first seen %s, last grew %s</span>",
                style_time(first, row->first_ns), style_time(last, row->last_ns));
}

static void stack_put(FILE *file, const struct view *view, const struct leaks_row *row)
{
    struct view_stack stack = view_stack(view, row->stack);
    fputs("<ol class=\"stack\">", file);
    for (uint32_t i = 0; i < stack.count && i < FRAMES_MAX; i++) {
        fputs("<li>", file);
        html_site(file, question_frame(view, stack.frames[i]));
        fputs("</li>\n", file);
    }
    if (stack.count > FRAMES_MAX)
        fprintf(file, "<li>\xe2\x80\xa6 %u more frames</li>\n", stack.count - FRAMES_MAX);
    fputs("</ol>", file);
    if (row->stacks > 1)
        fprintf(file, "<p class=\"quiet\">The largest of %" PRIu64 " stacks.</p>", row->stacks);
}
