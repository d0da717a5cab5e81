/* SPDX-License-Identifier: MIT */
/* The verbs that ask one question of a profile, or of two: diff, leaks, churn, sizes, ... */
#include "tool/command/command.h"
#include "tool/folder.h"
#include "tool/load.h"
#include "tool/render_picture.h"
#include "tool/report/text/text.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>

static const char peak_or_live[] = "peak or live";

/* A question while it is answered. */
struct question {
    struct loaded loaded;
    struct view view;
    struct style style;
};

/* Loads and makes the view of a metric; NULL: as flags say; "peak or live": as top does. */
static bool question_load(struct question *question, const struct arguments *arguments,
                          const char *metric, struct error *error)
{
    bool moment = metric && strcmp(metric, peak_or_live) == 0;
    memset(question, 0, sizeof *question);
    bool right = load(&question->loaded, arguments, error) &&
                 (!metric || moment || load_metric(&question->loaded, metric, error)) &&
                 load_window(&question->loaded, arguments, error);
    if (right && moment)
        load_moment(&question->loaded, arguments);
    question->loaded.view.past = true;
    question->loaded.view.apart = true; /* leaks and churn look at library frames */
    return right && load_view(&question->view, &question->loaded, error);
}

static void question_free(struct question *question)
{
    view_free(&question->view);
    load_free(&question->loaded);
}

/* --output is a picture: that of the metric, NULL: of what the flags say. */
static bool question_draw(const struct arguments *arguments, const char *metric,
                          struct error *error)
{
    struct loaded loaded;
    if (strcmp(arguments->command->verb, "time") == 0 &&
        (arguments_value(arguments, "--since") || arguments_value(arguments, "--until"))) {
        error_set(error, ERROR_USAGE,
                  "a picture of time shows the whole run, without --since and "
                  "--until");
        return error_hint(error, "memoir time --since 10s --until 20s   shows a part, as text");
    }
    if (arguments_value(arguments, "--metric"))
        metric = NULL;
    bool right =
        load(&loaded, arguments, error) && (!metric || load_metric(&loaded, metric, error)) &&
        picture_write(arguments, &loaded, arguments_value(arguments, "--output"), !metric, error);
    load_free(&loaded);
    return right;
}

/* `metric` is that of its picture. */
static bool question_answer(const struct arguments *arguments, const char *metric,
                            void (*report)(const struct view *view, const struct style *style),
                            struct error *error)
{
    struct question question;
    bool picture = false;
    if (report != report_threads && !picture_asked(arguments, &picture, error))
        return false;
    if (picture)
        return question_draw(arguments, metric, error);
    const char *moment = report == report_sizes ? peak_or_live : NULL;
    bool right = question_load(&question, arguments, moment, error) &&
                 load_open(&question.style, arguments, &question.loaded, error);
    if (right) {
        report(&question.view, &question.style);
        right = load_close(&question.style, &question.loaded, true, error);
    }
    question_free(&question);
    return right;
}

bool verb_churn(const struct arguments *arguments, struct error *error)
{
    return question_answer(arguments, "churn", report_churn, error);
}

bool verb_sizes(const struct arguments *arguments, struct error *error)
{
    return question_answer(arguments, NULL, report_sizes, error);
}

bool verb_threads(const struct arguments *arguments, struct error *error)
{
    return question_answer(arguments, NULL, report_threads, error);
}

bool verb_time(const struct arguments *arguments, struct error *error)
{
    return question_answer(arguments, NULL, report_time, error);
}

/* --normalize: the base as large as the profile, so that only shares are compared. */
static bool normalize(struct question *question, struct error *error)
{
    double whole = (double)question->view.whole.value, base = (double)question->view.whole.base;
    if (whole <= 0 || base <= 0)
        return true;
    question->loaded.view.base_factor = whole / base;
    view_free(&question->view);
    memset(&question->view, 0, sizeof question->view);
    return load_view(&question->view, &question->loaded, error);
}

static bool need_two(const struct loaded *loaded, const char *verb, struct error *error)
{
    if (loaded->has_base)
        return true;
    error_set(error, ERROR_USAGE,
              load_word(loaded) ? "%s needs two profiles, and there is only %s"
                                : "%s needs two profiles, and none is named; the newest here is %s",
              verb, loaded->name);
    return error_hint(error, "memoir %s BEFORE AFTER, or a folder with several", verb);
}

bool verb_diff(const struct arguments *arguments, struct error *error)
{
    struct question question = {0};
    struct arguments words;
    struct folder folder = {0};
    bool changed = false, picture;
    bool right = picture_asked(arguments, &picture, error) &&
                 folder_operands(&folder, &words, arguments, error) &&
                 question_load(&question, &words, peak_or_live, error) &&
                 need_two(&question.loaded, "diff", error) &&
                 (!arguments_value(arguments, "--normalize") || normalize(&question, error));
    if (right && picture)
        right = picture_write(arguments, &question.loaded, arguments_value(arguments, "--output"),
                              true, error);
    else if (right)
        right = load_open(&question.style, arguments, &question.loaded, error);
    if (right && !picture) {
        changed = report_diff(&question.view, &question.style);
        right = load_close(&question.style, &question.loaded, true, error);
    }
    if (right && changed && question.style.format == STYLE_TEXT) {
        char next[1100], before[512], after[512];
        snprintf(next, sizeof next, "memoir export %s --base %s -o diff.svg",
                 suggest_quoted(after, sizeof after, question.loaded.name),
                 suggest_quoted(before, sizeof before, question.loaded.base_name));
        terminal_next(next);
    }
    question_free(&question);
    folder_free(&folder);
    if (right && changed && arguments_value(arguments, "--exit-code"))
        return error_found(error);
    return right;
}

static bool suppressions_read(struct suppressions **suppressions, const struct arguments *arguments,
                              struct error *error)
{
    const char *path = arguments_value(arguments, "--suppressions");
    struct view_error reason = {""};
    *suppressions = suppressions_new();
    if (!*suppressions)
        return error_set(error, ERROR_INPUT, "out of memory");
    if (!path)
        return true;
    char *text = text_file_read(path, error);
    bool right = text != NULL;
    if (right && !suppressions_add(*suppressions, path, text, &reason))
        right = error_set(error, ERROR_USAGE, "%s", reason.text);
    free(text);
    return right;
}

bool verb_leaks(const struct arguments *arguments, struct error *error)
{
    struct question question = {0};
    struct suppressions *suppressions = NULL;
    const char *rule = arguments_value(arguments, "--rule");
    struct leaks_options options = {
        .rule = !rule || strcmp(rule, "auto") == 0 ? LEAKS_AUTO
                : strcmp(rule, "exit") == 0        ? LEAKS_EXIT
                                                   : LEAKS_GROWTH,
        .list = arguments_value(arguments, "--suppress") != NULL,
    };
    bool found = false, picture;
    if (!picture_asked(arguments, &picture, error))
        return false;
    if (picture)
        return question_draw(arguments, "live", error);
    bool right = suppressions_read(&suppressions, arguments, error) &&
                 question_load(&question, arguments, "live", error) &&
                 load_open(&question.style, arguments, &question.loaded, error);
    if (right) {
        options.suppressions = suppressions;
        found = report_leaks(&question.view, &options, &question.style);
        right = load_close(&question.style, &question.loaded, true, error);
    }
    question_free(&question);
    suppressions_free(suppressions);
    return right && found && !options.list ? error_found(error) : right;
}
