/* SPDX-License-Identifier: MIT */
/*
 * The verbs that are a profile, a view and one report: top, peak, tree, traces, peek, list and
 * report as text. Each says what its answer is made of (a `struct answer`); session_ask does the
 * rest in five steps. A `_next` function proposes the following command by what the answer shows.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/command/command.h"
#include "tool/render_picture.h"
#include "tool/report/text/text.h"
#include "tool/session.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"

static void top_adjust(struct request *request);
static bool is_verbose(const struct request *request);
static void top_next(const struct request *request);
static void name_plain(char *text, size_t size, const char *name);
static void tree_adjust(struct request *request);
static void traces_adjust(struct request *request);
static void peek_adjust(struct request *request);
static bool peek_render(struct request *request, struct error *error);
static void list_adjust(struct request *request);
static bool list_render(struct request *request, struct error *error);

bool verb_top(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.moment = true,
                                         .draw = picture_write,
                                         .adjust = top_adjust,
                                         .report = report_top,
                                         .next = top_next};
    return session_ask(arguments, &answer, NULL, error);
}

static void top_adjust(struct request *request)
{
    const struct arguments *arguments = request->arguments;
    bool json = arguments_value(arguments, FLAG_JSON) || arguments_value(arguments, FLAG_OUTPUT);
    request->options.rows_only = !is_verbose(request) && !json;
    request->options.apart = is_verbose(request) || json;
}

static bool is_verbose(const struct request *request)
{
    return arguments_value(request->arguments, FLAG_VERBOSE) != NULL;
}

/* The next commands, about the row that has the most. */
static void top_next(const struct request *request)
{
    const struct view *view = &request->view;
    char text[1024], name[128] = "", file[256] = " ", other[256];
    size_t count;
    struct view_row *rows = view_rows(view, request->style.by_total, &count);
    if (request_word(request))
        suggest_quoted(file + 1, sizeof file - 1, request_word(request));
    else
        file[0] = '\0';
    if (rows && count > 0) {
        bool unnamed = view->unnamed > 0.05;
        if (view_by_has(view->options.by, BY_NAMES))
            name_plain(name, sizeof name, view->frames[rows[0].frame].name);
        snprintf(text, sizeof text, "%s%s%s%s%smemoir tree%s%s%s", name[0] ? "memoir peek" : "",
                 name[0] ? file : "", name[0] ? " " : "", name, name[0] ? "      " : "", file,
                 unnamed ? "      memoir doctor " : "",
                 unnamed ? suggest_quoted(other, sizeof other, request->name) : "");
        terminal_next(text);
    }
    free(rows);
}

/* As much of a name as a shell takes for nothing else: what is printed may be copied. */
static void name_plain(char *text, size_t size, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.";
    name += name[0] == '~';
    snprintf(text, size, "%.*s", (int)strspn(name, plain), name);
}

bool verb_peak(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.metric = &metrics[METRIC_PEAK],
                                         .picture_metric = &metrics[METRIC_PEAK],
                                         .moment = true,
                                         .draw = picture_write,
                                         .adjust = top_adjust,
                                         .report = report_top,
                                         .next = top_next};
    return session_ask(arguments, &answer, NULL, error);
}

bool verb_tree(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .draw = picture_write, .adjust = tree_adjust, .report = report_tree};
    return session_ask(arguments, &answer, NULL, error);
}

static void tree_adjust(struct request *request)
{
    request->options.once = request->options.by == VIEW_FUNCTION;
}

bool verb_traces(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .draw = picture_write, .adjust = traces_adjust, .report = report_traces};
    return session_ask(arguments, &answer, NULL, error);
}

static void traces_adjust(struct request *request)
{
    request->options.apart = is_verbose(request);
}

bool verb_page(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .draw = picture_write, .report = report_page};
    return session_ask(arguments, &answer, NULL, error);
}

/* ---- verbs about one function ----------------------------------------------------------- */

bool verb_peek(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .function = true, .adjust = peek_adjust, .render = peek_render};
    return session_ask(arguments, &answer, NULL, error);
}

static void peek_adjust(struct request *request)
{
    if (!arguments_value(request->arguments, FLAG_BY))
        request->options.by = VIEW_FUNCTION;
}

static bool peek_render(struct request *request, struct error *error)
{
    struct view_error reason = {.text = ""};
    if (!request_open(request, error))
        return false;
    bool ok = report_peek(&request->view, request->rest[0], &request->style, &reason) ||
              suggest_refuse(request, &reason, error);
    return request_close(request, ok, error);
}

bool verb_list(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .function = true, .adjust = list_adjust, .render = list_render};
    if (arguments_value(arguments, FLAG_ASM))
        return verb_disasm(arguments, error);
    return session_ask(arguments, &answer, NULL, error);
}

/* By site, whatever the flags say. */
static void list_adjust(struct request *request)
{
    request->options.by = VIEW_SITE;
}

static bool list_render(struct request *request, struct error *error)
{
    const char *folders = arguments_value(request->arguments, FLAG_SOURCE_PATH);
    struct view_error reason = {.text = ""};
    if (!request_open(request, error))
        return false;
    bool ok = report_list(&request->view, request->rest[0], folders, &request->style, &reason) ||
              suggest_refuse(request, &reason, error);
    return request_close(request, ok, error);
}
