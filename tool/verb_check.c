/* SPDX-License-Identifier: MIT */
/*
 * `memoir check`: the limits of the command line and of a budget, each against the column of the
 * profile that it is about (tool/report/check.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/command/command.h"
#include "tool/report/text/text.h"
#include "tool/session.h"
#include "tool/suppress.h"
#include "tool/terminal/terminal.h"

struct checking {
    const struct arguments *arguments;
    struct request *request;
    struct view views[CHECK_METRICS];
    bool has_view[CHECK_METRICS];
    struct check check;
    struct error *error;
};

static void check_adjust(struct request *request);
static bool check_render(struct request *request, struct error *error);
static bool add_limits(struct checking *checking);
static bool has_metric(struct checking *checking, enum check_metric metric);
static double points_peak(const struct profile *profile);
static bool add_metric(struct checking *checking, enum check_metric metric,
                       struct check_limit limit, const char *flag);
static const struct view *view_of(struct checking *checking, enum check_metric metric);
static bool has_samples(const struct request *request);
static bool need_base(const struct checking *checking, const char *what);
static void item_fill(struct check_item *item, const struct request *request,
                      enum check_metric metric, const struct view *view);
static bool is_filtered(const struct view *view);
static double exact_of(const struct profile *profile, enum check_metric metric);
static void item_sum(struct check_item *item, const struct request *request,
                     const struct view_value *sum);
static double noise_of(double variance);
static bool add_leaks(struct checking *checking);
static bool add_budget(struct checking *checking);
static bool add_budget_line(struct checking *checking, const char *path,
                            const struct check_budget *line, size_t *stacks);
static bool budget_stale(const struct checking *checking, const char *path,
                         const struct check_budget *lines, const bool *stale, size_t count);
static bool put_files(struct checking *checking);

bool verb_check(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .viewless = true, .adjust = check_adjust, .render = check_render};
    struct checking checking = {.arguments = arguments, .error = error};
    checking.check.strict = arguments_value(arguments, FLAG_STRICT) != NULL;
    bool ok = session_ask(arguments, &answer, &checking, error);
    bool failed = !check_passes(&checking.check);
    check_free(&checking.check);
    return ok && failed ? error_found(error) : ok;
}

static void check_adjust(struct request *request)
{
    request->options.apart = true; /* budgets look at library frames */
}

static bool check_render(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    struct checking *checking = request->context;
    struct check *check = &checking->check;
    checking->request = request;
    bool ok = add_limits(checking) &&
              (!arguments_value(arguments, FLAG_NO_LEAKS) || add_leaks(checking)) &&
              (!arguments_value(arguments, FLAG_BUDGET) || add_budget(checking)) &&
              put_files(checking) && request_open(request, error);
    if (ok) {
        if (!arguments_value(arguments, FLAG_GITHUB) || request->style.format != STYLE_TEXT)
            report_check(check, &request->style);
        ok = request_close(request, true, error);
    }
    if (ok && check->unsure > 0)
        terminal_warn("%zu of %zu limits can't be decided from samples%s", check->unsure,
                      check->count, check->strict ? "" : "; --strict makes this a failure");
    for (unsigned i = 0; i < CHECK_METRICS; i++)
        if (checking->has_view[i])
            view_free(&checking->views[i]);
    return ok;
}

/* --max-peak, --max-live, --max-allocs; --max-growth for those that were not named and that there
 * are. */
static bool add_limits(struct checking *checking)
{
    static const struct {
        enum flag_id flag;
        enum check_metric metric;
    } flags[] = {{FLAG_MAX_ALLOCS, CHECK_ALLOCS},
                 {FLAG_MAX_PEAK, CHECK_PEAK},
                 {FLAG_MAX_LIVE, CHECK_LIVE},
                 {FLAG_MAX_CPU, CHECK_CPU}};
    const char *growth_text = arguments_value(checking->arguments, FLAG_MAX_GROWTH);
    struct check_limit growth = {5, true}, limit;
    bool any = arguments_value(checking->arguments, FLAG_NO_LEAKS) ||
               arguments_value(checking->arguments, FLAG_BUDGET);
    if (growth_text && (!check_limit_read(growth_text, UNIT_BYTES, &growth) || !growth.relative))
        return error_set(checking->error, ERROR_USAGE,
                         "--max-growth can't be '%s'; accepted: a share such as 5%%", growth_text);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        any |= arguments_value(checking->arguments, flags[i].flag) != NULL;
    bool timed = checking->request->profile->kind == PROFILE_CPU;
    bool all = growth_text || (checking->request->base && !any);
    if (!all && !any) {
        error_set(checking->error, ERROR_USAGE,
                  "check needs a limit, or a profile to compare with");
        return error_hint(checking->error, "memoir check FILE %s, or --base FILE",
                          timed ? "--max-cpu 1.5s" : "--max-peak 200M");
    }
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const char *text = arguments_value(checking->arguments, flags[i].flag);
        enum check_metric metric = flags[i].metric;
        if (text && !check_limit_read(text, check_rows[metric].unit, &limit))
            return error_set(checking->error, ERROR_USAGE,
                             "%s can't be '%s'; accepted: %s, or 5%% with --base",
                             commands_flag_name(flags[i].flag), text,
                             metric == CHECK_CPU ? "1.5s, 200ms" : "4096, 200M, 1.5G");
        if (!text && (!all || (metric == CHECK_CPU) != timed ||
                      (metric != CHECK_LIVE && !has_metric(checking, metric))))
            continue;
        if (!add_metric(checking, metric, text ? limit : growth,
                        commands_flag_name(text ? flags[i].flag : FLAG_MAX_GROWTH)))
            return false;
    }
    return true;
}

/* Whether the profile knows of it: a dump of what is live has no allocations and no peak. */
static bool has_metric(struct checking *checking, enum check_metric metric)
{
    struct error unsaid = {0};
    const struct profile *profile = checking->request->profile;
    return (metric == CHECK_PEAK && points_peak(profile) > 0) ||
           request_metric(checking->request, metrics[check_rows[metric].metric].word, &unsaid);
}

/* The heap at its largest, by the series of points; 0: there is none. */
static double points_peak(const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    double max = 0;
    for (size_t i = 0; i < profile->points.count; i++)
        max = fmax(max, (double)points[i].live_bytes);
    return max;
}

static bool add_metric(struct checking *checking, enum check_metric metric,
                       struct check_limit limit, const char *flag)
{
    const struct profile *profile = checking->request->profile;
    bool by_points = metric == CHECK_PEAK && profile_type_named(profile, TYPE_PEAK_SPACE) < 0 &&
                     points_peak(profile) > 0;
    const struct view *view = view_of(checking, by_points ? CHECK_LIVE : metric);
    if (!view || (limit.relative && !need_base(checking, flag)))
        return false;
    struct check_item *item =
        check_add(&checking->check, check_rows[metric].name, check_rows[metric].unit);
    if (!item)
        return error_memory(checking->error);
    item_fill(item, checking->request, metric, view);
    item->limit = limit;
    check_judge(&checking->check, item);
    if (item->verdict == CHECK_FAIL)
        check_blame(item, view);
    return true;
}

/* The view of a metric, made when first asked for. NULL: see the error. */
static const struct view *view_of(struct checking *checking, enum check_metric metric)
{
    if (checking->has_view[metric])
        return &checking->views[metric];
    if (!request_metric(checking->request, metrics[check_rows[metric].metric].word,
                        checking->error) ||
        !request_view_make(&checking->views[metric], checking->request, checking->error))
        return NULL;
    checking->has_view[metric] = true;
    if (checking->views[metric].kept == 0 && has_samples(checking->request)) {
        error_set(checking->error, ERROR_USAGE,
                  "no stack of %s matches the filters: there is nothing to check",
                  checking->request->name);
        error_hint(checking->error, "memoir tree %s   shows all stacks", checking->request->name);
        return NULL;
    }
    return &checking->views[metric];
}

static bool has_samples(const struct request *request)
{
    return request->profile->samples.count > 0 ||
           (request->base && request->base->samples.count > 0);
}

static bool need_base(const struct checking *checking, const char *what)
{
    if (checking->request->base)
        return true;
    error_set(checking->error, ERROR_USAGE, "%s is relative, which needs a base", what);
    return error_hint(checking->error, "memoir check FILE --base FILE");
}

/* The numbers of an item: the sums of the view, or those that were counted. */
static void item_fill(struct check_item *item, const struct request *request,
                      enum check_metric metric, const struct view *view)
{
    const struct profile *base = request->base;
    double exact = is_filtered(view) ? -1 : exact_of(request->profile, metric);
    double exact_base = is_filtered(view) || !base ? -1 : exact_of(base, metric);
    item_sum(item, request, &view->total);
    item->has_before = base != NULL;
    if (exact >= 0) {
        item->after = exact;
        item->noise = item->unseen = 0;
    }
    if (exact_base >= 0) {
        item->before = exact_base;
        item->noise_before = item->unseen_before = 0;
    }
}

static bool is_filtered(const struct view *view)
{
    return view->total.value != view->whole.value || view->total.base != view->whole.base;
}

/* What was counted of a metric, or of the peak the largest point of the series; -1: neither. */
static double exact_of(const struct profile *profile, enum check_metric metric)
{
    const char *type = check_rows[metric].type;
    double exact = (double)profile_exact(profile, type);
    if (exact < 0 && metric == CHECK_PEAK && profile_type_named(profile, type) < 0 &&
        points_peak(profile) > 0)
        exact = points_peak(profile);
    return exact;
}

/* The numbers of an item as samples have them. */
static void item_sum(struct check_item *item, const struct request *request,
                     const struct view_value *sum)
{
    item->after = (double)sum->value;
    item->before = (double)sum->base;
    item->noise = noise_of(sum->variance);
    item->noise_before = noise_of(sum->base_variance);
    item->unseen = check_unseen(request->profile, item->unit);
    item->unseen_before = request->base ? check_unseen(request->base, item->unit) : 0;
}

static double noise_of(double variance)
{
    return variance > 0 ? 1.96 * sqrt(variance) : 0;
}

static bool add_leaks(struct checking *checking)
{
    struct leaks leaks;
    struct suppressions *suppressions = NULL;
    struct view view = {0};
    struct request *request = checking->request;
    bool ok = suppress_read(&suppressions, checking->arguments, checking->error);
    struct leaks_options options = {.rule = LEAKS_AUTO, .suppressions = suppressions};
    /* The leaks of this profile alone: what the base has is no excuse. */
    unsigned type;
    bool scanned = metric_has(request->profile, METRIC_LOST, &type);
    ok = ok && request_metric(request, metrics[scanned ? METRIC_LOST : METRIC_LIVE].word,
                              checking->error);
    request->options.base = NULL;
    ok = ok && request_view_make(&view, request, checking->error);
    request->options.base = request->base;
    struct check_item *item = ok ? check_add(&checking->check, "leaks", UNIT_BYTES) : NULL;
    if (ok && (!item || !leaks_make(&leaks, &view, &options))) {
        ok = error_memory(checking->error);
    } else if (ok) {
        item->after = (double)leaks.found_bytes;
        check_judge(&checking->check, item);
        if (leaks.rule == LEAKS_NONE) {
            checking->check.unsure++;
            item->verdict = CHECK_UNSURE;
            snprintf(item->detail, sizeof item->detail,
                     "a sampled profile of a single moment can't show leaks");
        } else if (leaks.found > 0) {
            const struct view_frame *frame = &view.frames[leaks.rows[0].frame];
            snprintf(item->detail, sizeof item->detail, "%.120s", frame->name);
            snprintf(item->file, sizeof item->file, "%s", frame->file);
            item->line = frame->line;
        }
        leaks_free(&leaks);
    }
    view_free(&view);
    suppressions_free(suppressions);
    return ok;
}

static bool add_budget(struct checking *checking)
{
    const char *path = arguments_value(checking->arguments, FLAG_BUDGET);
    struct view_error reason = {.text = ""};
    size_t count = 0, fitting, stale_count = 0;
    char *text = text_file_read(path, checking->error);
    struct check_budget *lines = text ? check_budget_read(path, text, &count, &reason) : NULL;
    bool *stale = lines ? calloc(count + 1, sizeof *stale) : NULL, ok = stale != NULL;
    if (text && !lines)
        error_set(checking->error, ERROR_USAGE, "%s", reason.text);
    else if (text && !stale)
        error_memory(checking->error);
    for (size_t i = 0; ok && i < count; i++) {
        fitting = 0;
        ok = add_budget_line(checking, path, &lines[i], &fitting);
        stale[i] = ok && fitting == 0 && has_samples(checking->request);
        stale_count += stale[i];
    }
    if (ok && stale_count > 0)
        ok = budget_stale(checking, path, lines, stale, count);
    free(stale);
    free(lines);
    free(text);
    return ok;
}

/* A line of the budget. *stacks is how many fit its pattern. */
static bool add_budget_line(struct checking *checking, const char *path,
                            const struct check_budget *line, size_t *stacks)
{
    const struct request *request = checking->request;
    enum check_metric metric = line->metric;
    const struct view *view = view_of(checking, metric);
    if (!view || (line->limit.relative && !need_base(checking, "a limit of the budget")))
        return false;
    struct check_item *item = check_add(&checking->check, "budget", check_rows[metric].unit);
    if (!item)
        return error_memory(checking->error);
    struct view_value sum = check_sum(view, line->pattern, stacks);
    double exact = exact_of(request->profile, metric);
    snprintf(item->subject, sizeof item->subject, "%s", line->pattern);
    snprintf(item->detail, sizeof item->detail, "(%.200s:%u)", path, line->line);
    snprintf(item->file, sizeof item->file, "%s", path);
    item->line = line->line;
    item_sum(item, request, &sum);
    item->has_before = line->limit.relative;
    item->bounded = exact >= 0;
    item->max = exact;
    item->limit = line->limit;
    check_judge(&checking->check, item);
    return true;
}

/* Patterns that fit nothing limit nothing: most likely a function or file has another name now. */
static bool budget_stale(const struct checking *checking, const char *path,
                         const struct check_budget *lines, const bool *stale, size_t count)
{
    char more[256] = "";
    size_t used = 0, first = 0;
    while (!stale[first])
        first++;
    for (size_t i = first + 1; i < count && used < sizeof more - 16; i++)
        if (stale[i])
            used += (size_t)snprintf(more + used, sizeof more - used, "%s%u",
                                     used > 0 ? ", " : "; neither do the patterns of line ",
                                     lines[i].line);
    error_set(checking->error, ERROR_USAGE, "%s:%u: '%s' matches no stack of %s%s", path,
              lines[first].line, lines[first].pattern, checking->request->name, more);
    return checking->request->profile->period > 1
               ? error_hint(checking->error,
                            "was it renamed? Sampling may also have missed it: memoir run --exact "
                            "records every block")
               : error_hint(checking->error, "was it renamed? memoir tree %s   shows all stacks",
                            checking->request->name);
}

/* For the machines: --junit FILE, --github. */
static bool put_files(struct checking *checking)
{
    const char *junit = arguments_value(checking->arguments, FLAG_JUNIT);
    const char *summary = getenv("GITHUB_STEP_SUMMARY");
    struct error *error = checking->error;
    if (junit) {
        struct output output;
        if (!output_start(&output, junit, error))
            return false;
        report_check_junit(&checking->check, checking->request->name, output.file);
        if (!output_end(&output, true, error))
            return false;
    }
    if (!arguments_value(checking->arguments, FLAG_GITHUB))
        return true;
    if (!summary || *summary == '\0') {
        report_check_github(&checking->check, stdout, stdout);
        return true;
    }
    FILE *file = output_open(summary, true); /* what other steps say is in it */
    if (file)
        report_check_github(&checking->check, stdout, file);
    bool ok = file && !ferror(file);
    ok = file && fclose(file) == 0 && ok;
    return ok || error_set(error, ERROR_INPUT, "can't write %s: %s", summary, strerror(errno));
}
