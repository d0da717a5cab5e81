/* SPDX-License-Identifier: MIT */
/*
 * See tool/session.h: what the flags of a command choose. First which moments of which profiles are
 * looked at, and what a second one is for: each verb either does with --at, --since, --until and
 * --base what they say, or refuses them. Once the profiles are read, metric, filters and ranges
 * of the view.
 */
#include "tool/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/profile/read/read.h"
#include "tool/suggest.h"

enum { CHURN_US = 1024 }; /* a block that lived shorter is short-lived; a border of the buckets */

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix bytes[] = {
    {"", 1},           {"b", 1},           {"k", 1024},         {"kb", 1024},
    {"kib", 1024},     {"m", 1048576},     {"mb", 1048576},     {"mib", 1048576},
    {"g", 1073741824}, {"gb", 1073741824}, {"gib", 1073741824}, {NULL, 0}};
static const struct suffix microseconds[] = {{"", 1e6},  {"us", 1},    {"ms", 1e3},  {"s", 1e6},
                                             {"m", 6e7}, {"min", 6e7}, {"h", 3.6e9}, {NULL, 0}};

static bool moment_check(const struct arguments *arguments, enum flag_id flag, uint64_t *time_ms,
                         struct error *error);
static bool both_refuse(const char *a, const char *b, const char *hint, struct error *error);
static bool flags_take(struct request *request, struct error *error);
static void moment_type(struct request *request);
static bool range_read(const struct arguments *arguments, enum flag_id flag,
                       const struct suffix *suffixes, uint64_t *min, uint64_t *max,
                       struct error *error);
static bool part_read(const char *text, size_t length, const struct suffix *suffixes,
                      uint64_t *number);
static bool base_take(struct request *request, struct error *error);
static void programs_compare(const struct request *request);
static const char *program_of(const struct profile *profile);
static bool moment_name(char **name, const struct profile *profile);
static bool window_choose(struct request *request, struct error *error);
static bool window_end(const struct request *request, enum flag_id flag, const char *value,
                       int64_t *time_ns, struct error *error);
static void warnings_print(const struct profile *profile);
static void rows_choose(struct request *request);

bool request_check(const struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    const char *verb = arguments->command->verb;
    const char *at = arguments_value(arguments, FLAG_AT),
               *base = arguments_value(arguments, FLAG_BASE);
    const char *since = arguments_value(arguments, FLAG_SINCE),
               *until = arguments_value(arguments, FLAG_UNTIL);
    uint64_t at_ms, since_ms = UINT64_MAX, until_ms = UINT64_MAX;
    const char *program = arguments_value(arguments, FLAG_PROGRAM);
    bool window = request->answer->window;
    if (program && access(program, R_OK) != 0) {
        error_set(error, ERROR_INPUT, "--program %s: %s", program, strerror(errno));
        return suggest_file(program, "give the file of the program that was recorded", error);
    }
    if (!moment_check(arguments, FLAG_AT, &at_ms, error) ||
        !moment_check(arguments, FLAG_SINCE, &since_ms, error) ||
        !moment_check(arguments, FLAG_UNTIL, &until_ms, error))
        return false;
    if (at && until)
        return both_refuse("--at", "--until", "they mean the same", error);
    if (base && since)
        return both_refuse("--base", "--since",
                           "--since compares a capture with itself, --base with another profile",
                           error);
    if (since_ms != UINT64_MAX && until_ms != UINT64_MAX && since_ms >= until_ms) {
        error_set(error, ERROR_USAGE, "--since %s is not before --until %s", since, until);
        return error_hint(error, "memoir help moments");
    }
    if (window && (at || base)) {
        error_set(error, ERROR_USAGE, "time shows a whole run, so %s does not apply",
                  at ? "--at" : "--base");
        return error_hint(error, "--since 10s --until 20s   shows a part of it");
    }
    if (!window && (base || since) && commands_answer(arguments->command->id)->base == BASE_NONE) {
        error_set(error, ERROR_USAGE, "%s shows a single moment, so %s does not apply", verb,
                  base ? "--base" : "--since");
        return error_hint(error, "use it with memoir diff, top, tree, peek, traces or list");
    }
    return true;
}

/* *time_ms is left alone without the flag, and UINT64_MAX if its value is no time. */
static bool moment_check(const struct arguments *arguments, enum flag_id flag, uint64_t *time_ms,
                         struct error *error)
{
    const char *value = arguments_value(arguments, flag);
    if (!value)
        return true;
    enum read_moment moment = read_moment(value, time_ms);
    if (moment != MOMENT_TIME)
        *time_ms = UINT64_MAX;
    if (*value != '\0' && moment != MOMENT_UNKNOWN)
        return true;
    const char *name = commands_flag_name(flag);
    error_set(error, ERROR_USAGE, "%s can't be '%s'", name, value);
    return error_hint(error,
                      "%s peak, %s end, %s 1m30s, or the number of a snapshot: memoir help "
                      "moments",
                      name, name, name);
}

static bool both_refuse(const char *a, const char *b, const char *hint, struct error *error)
{
    error_set(error, ERROR_USAGE, "%s and %s exclude each other", a, b);
    return error_hint(error, "%s", hint);
}

bool request_choose(struct request *request, struct error *error)
{
    const struct answer *answer = request->answer;
    const struct metric *metric = request->picture ? answer->picture_metric : answer->metric;
    if (!flags_take(request, error))
        return false;
    warnings_print(&request->own.profile); /* those of a session were said when it was read */
    warnings_print(&request->own.base);
    if (answer->function && !request->rest[0]) {
        error_set(error, ERROR_USAGE, "%s needs a function", request->arguments->command->verb);
        return error_hint(error, "memoir %s %s main", request->arguments->command->verb,
                          request->name);
    }
    bool always = answer->metric_always && !request->picture;
    if (arguments_value(request->arguments, FLAG_METRIC) && !always)
        metric = NULL;
    if (answer->memory && request->profile->kind == PROFILE_CPU)
        return request_no_memory(request, error);
    unsigned type;
    if (metric && !request->picture && answer->metric_first &&
        metric_find(request->profile, answer->metric_first->word, &type))
        metric = answer->metric_first;
    if (metric && !request_metric(request, metric->word, error))
        return false;
    if (!metric && answer->moment)
        request_moment(request);
    rows_choose(request);
    if (answer->adjust)
        answer->adjust(request);
    return true;
}

static bool flags_take(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    const struct profile *profile = request->profile;
    struct view_options *view = &request->options;
    const char *metric = arguments_value(arguments, FLAG_METRIC);
    view->type = profile->default_type;
    moment_type(request);
    view->by = (enum view_by)arguments_choice(arguments, FLAG_BY, VIEW_SITE);
    view->frames = (enum view_frames)arguments_choice(arguments, FLAG_FRAMES, VIEW_BLAME);
    view->fold_time = arguments_value(arguments, FLAG_FRAMES) != NULL;
    view->show = arguments_value(arguments, FLAG_SHOW);
    view->hide = arguments_value(arguments, FLAG_HIDE);
    view->from = arguments_value(arguments, FLAG_FROM);
    view->prune = arguments_value(arguments, FLAG_PRUNE);
    view->module = arguments_value(arguments, FLAG_MODULE);
    view->tag_focus = arguments_value(arguments, FLAG_TAG_FOCUS);
    view->tag_ignore = arguments_value(arguments, FLAG_TAG_IGNORE);
    view->no_inlines = arguments_value(arguments, FLAG_NO_INLINES) != NULL;
    if (!(profile->traits & TRAIT_THREAD)) /* its reader has picked them */
        view->thread = arguments_value(arguments, FLAG_THREAD);
    view->base = request->base;
    bool capture = profile->traits & TRAIT_CAPTURE; /* or none ended */
    if (arguments_value(arguments, FLAG_AGE) && !profile->samples.lives && !capture) {
        error_set(error, ERROR_USAGE, "%s has no block lifetimes, which --age needs",
                  request->name);
        return error_hint(error, "memoir run -- ./program   records them");
    }
    int allocated = profile_type_named(profile, TYPE_ALLOC_SPACE);
    if (arguments_value(arguments, FLAG_AGE) && allocated >= 0) /* blocks that have ended */
        view->type = (unsigned)allocated;
    return range_read(arguments, FLAG_SIZE, bytes, &view->size_min, &view->size_max, error) &&
           range_read(arguments, FLAG_AGE, microseconds, &view->age_min_us, &view->age_max_us,
                      error) &&
           (!metric || request_metric(request, metric, error)) && base_take(request, error) &&
           window_choose(request, error);
}

/* The column that a moment that was asked for is in. */
static void moment_type(struct request *request)
{
    const struct arguments *arguments = request->arguments;
    const struct profile *profile = request->profile;
    const char *at =
        arguments_value(arguments, arguments_value(arguments, FLAG_AT) ? FLAG_AT : FLAG_UNTIL);
    int live = profile_type_named(profile, TYPE_INUSE_SPACE),
        peak = profile_type_named(profile, TYPE_PEAK_SPACE);
    bool several = profile->moments.count > 0;
    if (!at || profile->kind != PROFILE_HEAP)
        return;
    if (several && live >= 0) /* which is what the reader took from that moment */
        request->options.type = (unsigned)live;
    else if (read_moment(at, &(uint64_t){0}) == MOMENT_PEAK && peak >= 0)
        request->options.type = (unsigned)peak;
}

/* 1K:64K, :1s, 10s:, or one number. */
static bool range_read(const struct arguments *arguments, enum flag_id flag,
                       const struct suffix *suffixes, uint64_t *min, uint64_t *max,
                       struct error *error)
{
    const char *text = arguments_value(arguments, flag);
    if (!text)
        return true;
    const char *colon = strchr(text, ':');
    bool ok = text[0] != '\0' && strcmp(text, ":") != 0;
    if (!colon) {
        ok = ok && part_read(text, strlen(text), suffixes, min);
        *max = *min;
    } else {
        if (colon > text)
            ok = ok && part_read(text, (size_t)(colon - text), suffixes, min);
        if (colon[1])
            ok = ok && part_read(colon + 1, strlen(colon + 1), suffixes, max);
    }
    if (ok && (*max == 0 || *min <= *max))
        return true;
    error_set(error, ERROR_USAGE, "%s can't be '%s'", commands_flag_name(flag), text);
    return error_hint(error, suffixes == bytes ? "--size 1K:64K, --size :4096, --size 1M:"
                                               : "--age :1ms, --age 10s:, --age 1s:1m");
}

static bool part_read(const char *text, size_t length, const struct suffix *suffixes,
                      uint64_t *number)
{
    char part[32];
    char *end;
    if (length >= sizeof part)
        return false;
    memcpy(part, text, length);
    part[length] = '\0';
    double value = strtod(part, &end);
    if (end == part || !(value >= 0) || value > 1e15)
        return false;
    for (; suffixes->text; suffixes++)
        if (strcasecmp(suffixes->text, end) == 0) {
            value *= suffixes->factor;
            *number = value < 0x1p63 ? (uint64_t)value : UINT64_C(1) << 63;
            return true;
        }
    return false;
}

/* The profile becomes what it has more than the other one. */
static bool base_take(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    const struct profile *profile = request->profile, *base = request->base;
    bool since = arguments_value(arguments, FLAG_SINCE) != NULL;
    programs_compare(request);
    if (!base || commands_answer(arguments->command->id)->base != BASE_TAKEN)
        return true;
    for (unsigned i = 0; i < profile->types; i++) {
        const char *name = profile_text(profile, profile->type[i].name);
        if (i == request->options.type && base->types > 0 && profile_type_named(base, name) < 0) {
            error_set(error, ERROR_USAGE, "%s has no metric '%s', so it can't be compared with %s",
                      request->base_name, name, request->name);
            return error_hint(error, "--metric picks a metric that both have");
        }
    }
    int64_t duration_ns = profile->duration_ns - base->duration_ns;
    if (!request_change(request, error))
        return false;
    if (!profile_merge(&request->changed, request->base, -1))
        return error_memory(error);
    if (since && (!moment_name(&request->base_name, request->base) ||
                  !moment_name(&request->name, request->profile)))
        return error_memory(error);
    if (since)
        request->changed.duration_ns = duration_ns;
    request->base = request->options.base = NULL;
    return true;
}

/* A difference between two programs is rarely what is wanted, and looks like any other. */
static void programs_compare(const struct request *request)
{
    const char *now = program_of(request->profile);
    const char *before = request->base ? program_of(request->base) : "";
    if (*now && *before && strcmp(now, before) != 0)
        terminal_warn("the profiles come from different programs: %s from %s, %s from %s",
                      request->base_name, before, request->name, now);
}

/* The last part of the program's path, or "". */
static const char *program_of(const struct profile *profile)
{
    return name_base(profile_text(profile, profile->program));
}

/* "run.memoir at 1m30s" */
static bool moment_name(char **name, const struct profile *profile)
{
    char text[600], time[32];
    snprintf(text, sizeof text, "%s at %s", *name,
             style_time(time, profile->at_peak ? profile->peak_time_ns : profile->duration_ns));
    free(*name);
    *name = strdup(text);
    return *name != NULL;
}

/* The part of a run that --since and --until name. */
static bool window_choose(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    struct view_options *view = &request->options;
    if (!request->answer->window || request->picture)
        return true;
    return window_end(request, FLAG_SINCE, arguments_value(arguments, FLAG_SINCE), &view->since_ns,
                      error) &&
           window_end(request, FLAG_UNTIL, arguments_value(arguments, FLAG_UNTIL), &view->until_ns,
                      error);
}

/* The time of the part of a run that `time` shows, since its start. */
static bool window_end(const struct request *request, enum flag_id flag, const char *value,
                       int64_t *time_ns, struct error *error)
{
    uint64_t time_ms;
    const struct profile *profile = request->profile;
    if (!value)
        return true;
    switch (read_moment(value, &time_ms)) {
    case MOMENT_PEAK:
        *time_ns = profile->peak_time_ns;
        break;
    case MOMENT_END:
        *time_ns = profile->duration_ns;
        break;
    case MOMENT_TIME:
        *time_ns = time_ms < INT64_MAX / 1000000 ? (int64_t)time_ms * 1000000 : INT64_MAX;
        break;
    case MOMENT_NUMBER:
    case MOMENT_UNKNOWN: /* which was refused before */
        return error_set(error, ERROR_USAGE,
                         "%s takes a time here, such as 10s, not the number of "
                         "a snapshot",
                         commands_flag_name(flag));
    }
    if (*time_ns <= profile->duration_ns)
        return true;
    char text[32];
    return error_set(error, ERROR_USAGE, "no data at %s: %s ends after %s", value, request->name,
                     style_time(text, profile->duration_ns));
}

static void warnings_print(const struct profile *profile)
{
    const uint32_t *strings = profile->warnings.items;
    for (size_t i = 0; i < profile->warnings.count; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s", profile_text(profile, strings[i]));
        terminal_clean(text, strlen(text));
        terminal_warn("%s", text);
    }
}

bool request_no_memory(const struct request *request, struct error *error)
{
    char file[512];
    error_set(error, ERROR_USAGE, "%s is a profile of time, without memory", request->name);
    return error_hint(error, "memoir top %s   shows where the time goes",
                      suggest_quoted(file, sizeof file, request->name));
}

bool request_metric(struct request *request, const char *word, struct error *error)
{
    const struct profile *profile = request->profile;
    char known[512] = "";
    size_t used = 0;
    if (metric_find(profile, word, &request->options.type)) {
        if (strcmp(word, metrics[METRIC_CHURN].word) == 0 && request->options.age_max_us == 0)
            request->options.age_max_us = CHURN_US;
        return true;
    }
    if (profile->kind == PROFILE_CPU && metric_is_memory(word))
        return request_no_memory(request, error);
    for (unsigned i = 0; i < profile->types && used < sizeof known - 1; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 profile_text(profile, profile->type[i].name));
    terminal_clean(known, strlen(known));
    const char *nearest = metric_nearest(profile, word), *recorder = metric_recorder(word);
    if (recorder) {
        error_set(error, ERROR_USAGE, "%s has no metric '%s'", request->name, word);
        return error_hint(error, "%s -- ./program   records it", recorder);
    }
    error_set(error, ERROR_USAGE, "%s has no metric '%s'%s%s%s", request->name, word,
              nearest ? ", the nearest is '" : "", nearest ? nearest : "", nearest ? "'" : "");
    return error_hint(error, "it has: %s   (memoir help metrics)", known);
}

void request_moment(struct request *request)
{
    const struct arguments *arguments = request->arguments;
    const struct profile *profile = request->profile;
    int peak = profile_type_named(profile, TYPE_PEAK_SPACE);
    bool base = !request->base || (profile_type_named(request->base, TYPE_PEAK_SPACE) >= 0 &&
                                   (request->base->ended || !profile->ended));
    bool live = (int)profile->default_type == profile_type_named(profile, TYPE_INUSE_SPACE);
    if (profile->ended && live && base && peak >= 0 && !arguments_value(arguments, FLAG_METRIC) &&
        !arguments_value(arguments, FLAG_AGE) && !arguments_value(arguments, FLAG_AT) &&
        !arguments_value(arguments, FLAG_UNTIL) && !arguments_value(arguments, FLAG_SINCE))
        request->options.type = (unsigned)peak;
}

/* Without --by: a row of memory is a line that allocates, one of time is a function. */
static void rows_choose(struct request *request)
{
    struct view_options *options = &request->options;
    if (!arguments_value(request->arguments, FLAG_BY) && options->type < request->profile->types &&
        profile_type_timed(request->profile, options->type))
        options->by = VIEW_FUNCTION;
}
