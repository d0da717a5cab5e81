/* SPDX-License-Identifier: MIT */
/*
 * The verbs that ask one question of a profile, or of two: diff, leaks, churn, frag, sizes,
 * threads, time. Each is a row of what session_ask needs: which metric and moment the question is
 * about where the user did not say, which report answers it, and what to do next. None of them
 * reads a file itself.
 */
#include <stdlib.h>
#include <string.h>

#include "tool/command/command.h"
#include "tool/folder.h"
#include "tool/picture_kind.h"
#include "tool/process/process.h"
#include "tool/render_picture.h"
#include "tool/report/text/text.h"
#include "tool/session.h"
#include "tool/suggest.h"
#include "tool/suppress.h"
#include "tool/terminal/terminal.h"

struct leaks_asked {
    struct leaks_options options;
    bool watched; /* with --watch */
    bool found;
};

static void request_adjust(struct request *request);
static bool diff_render(struct request *request, struct error *error);
static bool need_two(const struct request *request, struct error *error);
static bool normalize(struct request *request, struct error *error);
static void diff_next(const struct request *request);
static bool leaks_watch(const struct arguments *arguments, bool scans, uint64_t *ms,
                        struct error *error);
static bool leaks_expect(const struct arguments *arguments, struct error *error);
static bool leaks_render(struct request *request, struct error *error);

bool verb_churn(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.picture_metric = &metrics[METRIC_CHURN],
                                         .memory = true,
                                         .draw = picture_write,
                                         .adjust = request_adjust,
                                         .report = report_churn};
    return session_ask(arguments, &answer, NULL, error);
}

bool verb_frag(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.metric = &metrics[METRIC_LIVE],
                                         .metric_first = &metrics[METRIC_PINNED],
                                         .picture_metric = &metrics[METRIC_PINNED],
                                         .metric_always = true,
                                         .pins = true,
                                         .memory = true,
                                         .draw = picture_write,
                                         .adjust = request_adjust,
                                         .report = report_frag};
    return session_ask(arguments, &answer, NULL, error);
}

/* Leaks and churn look at library frames, and at what was before. */
static void request_adjust(struct request *request)
{
    request->options.past = true;
    request->options.apart = true;
}

bool verb_sizes(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.memory = true,
                                         .moment = true,
                                         .draw = picture_write,
                                         .adjust = request_adjust,
                                         .report = report_sizes};
    return session_ask(arguments, &answer, NULL, error);
}

bool verb_threads(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .draw = picture_write, .adjust = request_adjust, .report = report_threads};
    return session_ask(arguments, &answer, NULL, error);
}

bool verb_time(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .window = true, .draw = picture_write, .adjust = request_adjust, .report = report_time};
    const char *output = arguments_value(arguments, FLAG_OUTPUT);
    if (output && picture_format_of(output) && picture_check(arguments, output, error) &&
        (arguments_value(arguments, FLAG_SINCE) || arguments_value(arguments, FLAG_UNTIL))) {
        error_set(error, ERROR_USAGE,
                  "the picture of memory over time shows the whole run, so --since and --until do "
                  "not apply");
        return error_hint(error, "memoir time --since 10s --until 20s   shows a part as text");
    }
    return session_ask(arguments, &answer, NULL, error);
}

/* ---- diff ------------------------------------------------------------------------------- */

bool verb_diff(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .moment = true, .adjust = request_adjust, .render = diff_render};
    const char *output = arguments_value(arguments, FLAG_OUTPUT);
    struct arguments words;
    struct folder folder = {0};
    bool changed = false;
    bool ok = (!output || !picture_format_of(output) || picture_check(arguments, output, error)) &&
              folder_operands(&folder, &words, arguments, error) &&
              session_ask(&words, &answer, &changed, error);
    folder_free(&folder);
    if (ok && changed && arguments_value(arguments, FLAG_EXIT_CODE))
        return error_found(error);
    return ok;
}

/* *context becomes whether something has changed. */
static bool diff_render(struct request *request, struct error *error)
{
    const char *output = arguments_value(request->arguments, FLAG_OUTPUT);
    bool *changed = request->context;
    if (!need_two(request, error) ||
        (arguments_value(request->arguments, FLAG_NORMALIZE) && !normalize(request, error)))
        return false;
    if (output && picture_format_of(output))
        return picture_write(request, output, true, error);
    if (!request_open(request, error))
        return false;
    *changed = report_diff(&request->view, &request->style);
    if (!request_close(request, true, error))
        return false;
    if (*changed && request->style.format == STYLE_TEXT)
        diff_next(request);
    return true;
}

static bool need_two(const struct request *request, struct error *error)
{
    if (request->base)
        return true;
    const char *other = request->words.focus ? request->words.focus[0] : NULL;
    if (request_word(request) && other)
        error_set(error, ERROR_USAGE, "diff needs two profiles, but there is no file '%s'", other);
    else
        error_set(error, ERROR_USAGE,
                  request_word(request) ? "diff needs two profiles, but got only %s"
                                        : "diff needs two profiles; the newest here is %s",
                  request->name);
    return error_hint(error, "memoir diff BEFORE AFTER, or memoir diff FOLDER");
}

/* --normalize: the base as large as the profile, so that only shares are compared. */
static bool normalize(struct request *request, struct error *error)
{
    double whole = (double)request->view.whole.value, base = (double)request->view.whole.base;
    if (whole <= 0 || base <= 0)
        return true;
    request->options.base_factor = whole / base;
    view_free(&request->view);
    memset(&request->view, 0, sizeof request->view);
    return request_view_make(&request->view, request, error);
}

static void diff_next(const struct request *request)
{
    char next[1100], before[512], after[512];
    snprintf(next, sizeof next, "memoir export %s --base %s -o diff.svg",
             suggest_quoted(after, sizeof after, request->name),
             suggest_quoted(before, sizeof before, request->base_name));
    terminal_next(next);
}

/* ---- leaks ------------------------------------------------------------------------------ */

bool verb_leaks(const struct arguments *arguments, struct error *error)
{
    struct answer answer = {.metric = &metrics[METRIC_LIVE],
                            .picture_metric = &metrics[METRIC_LIVE],
                            .metric_always = true,
                            .draw = picture_write,
                            .adjust = request_adjust,
                            .render = leaks_render};
    const char *watch = arguments_value(arguments, FLAG_WATCH);
    if (arguments_value(arguments, FLAG_DRY_RUN))
        return leaks_expect(arguments, error);
    struct suppressions *suppressions = NULL;
    struct leaks_asked asked = {
        .options.rule = (enum leaks_rule)arguments_choice(arguments, FLAG_RULE, LEAKS_AUTO),
        .options.list = arguments_value(arguments, FLAG_SUPPRESS) != NULL,
        .watched = watch != NULL,
    };
    if (asked.options.rule == LEAKS_LOST)
        answer.metric = &metrics[METRIC_LOST];
    else if (asked.options.rule == LEAKS_AUTO)
        answer.metric_first = &metrics[METRIC_LOST];
    if (asked.options.rule == LEAKS_LOST || asked.options.rule == LEAKS_AUTO)
        answer.ask = "leaks";
    char ask[64];
    if (watch) {
        uint64_t ms;
        if (!leaks_watch(arguments, answer.ask != NULL, &ms, error))
            return false;
        snprintf(ask, sizeof ask, "leaks %llu", (unsigned long long)ms);
        answer.ask = ask;
    }
    bool ok = suppress_read(&suppressions, arguments, error);
    asked.options.suppressions = suppressions;
    ok = ok && session_ask(arguments, &answer, &asked, error);
    suppressions_free(suppressions);
    return ok && asked.found && !asked.options.list ? error_found(error) : ok;
}

/* For how long a process is to be watched before it is scanned. */
static bool leaks_watch(const struct arguments *arguments, bool scans, uint64_t *ms,
                        struct error *error)
{
    /* Shorter, and a busy page looks idle; longer, and the process should be asked twice. */
    enum { WATCH_MIN_MS = 500, WATCH_MAX_MS = 300000 };
    const char *watch = arguments_value(arguments, FLAG_WATCH);
    bool process = false;
    for (size_t i = 0; i < arguments->operands_count; i++)
        process |= input_kind_of(arguments->operands[i]) == INPUT_PROCESS;
    if (!read_time(watch, ms) || *ms < WATCH_MIN_MS || *ms > WATCH_MAX_MS)
        return error_set(error, ERROR_USAGE, "--watch can't be '%s'; accepted: 500ms to 5m", watch);
    if (!scans)
        return error_set(error, ERROR_USAGE,
                         "--watch is for the rules lost and auto: the others scan no process");
    if (process)
        return true;
    error_set(error, ERROR_USAGE, "--watch needs the id of a running process");
    return error_hint(error, "memoir ps");
}

/* What a scan would do to a process. */
static bool leaks_expect(const struct arguments *arguments, struct error *error)
{
    if (arguments->operands_count != 1 || input_kind_of(arguments->operands[0]) != INPUT_PROCESS) {
        error_set(error, ERROR_USAGE, "--dry-run needs the id of a running process");
        return error_hint(error, "memoir ps");
    }
    return input_scan_pause(arguments->operands[0], stdout, error);
}

static bool leaks_render(struct request *request, struct error *error)
{
    struct leaks_asked *asked = request->context;
    if (!request_open(request, error))
        return false;
    asked->found = report_leaks(&request->view, &asked->options, &request->style);
    if (asked->watched && request->view.profile->scan.watched_ms == 0)
        fputs("memoir: the kernel can't tell which memory is written to (Linux 6.7 and later can, "
              "unless a seccomp filter forbids it): forgotten blocks are recognised by age alone\n",
              stderr);
    return request_close(request, true, error);
}
