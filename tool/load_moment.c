/* SPDX-License-Identifier: MIT */
/*
 * See tool/load.h: which moments of which profiles are looked at, and what a second one is for.
 * Each verb either does with --at, --since, --until and --base what they say, or refuses them.
 */
#include "tool/load_parts.h"
#include "tool/profile/read/read.h"

#include "tool/command/command.h"
#include "tool/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>

static bool moment_check(const struct arguments *arguments, const char *flag, uint64_t *time_ms,
                         struct error *error)
{
    const char *value = arguments_value(arguments, flag);
    if (!value || read_is_moment(value, time_ms))
        return true;
    error_set(error, ERROR_USAGE, "%s can't be '%s'", flag, value);
    return error_hint(error,
                      "%s peak, %s end, %s 1m30s, or the number of a snapshot: memoir help "
                      "moments",
                      flag, flag, flag);
}

static bool both_refuse(const char *a, const char *b, const char *hint, struct error *error)
{
    error_set(error, ERROR_USAGE, "%s and %s can't be given both", a, b);
    return error_hint(error, "%s", hint);
}

bool load_moment_check(const struct arguments *arguments, struct error *error)
{
    const char *verb = arguments->command->verb;
    const char *at = arguments_value(arguments, "--at"),
               *base = arguments_value(arguments, "--base");
    const char *since = arguments_value(arguments, "--since"),
               *until = arguments_value(arguments, "--until");
    uint64_t at_ms, since_ms = UINT64_MAX, until_ms = UINT64_MAX;
    bool window = strcmp(verb, "time") == 0;
    if (!moment_check(arguments, "--at", &at_ms, error) ||
        !moment_check(arguments, "--since", &since_ms, error) ||
        !moment_check(arguments, "--until", &until_ms, error))
        return false;
    if (at && until)
        return both_refuse("--at", "--until", "they mean the same: one moment", error);
    if (base && since)
        return both_refuse("--base", "--since",
                           "--since compares a capture with itself, --base with another profile",
                           error);
    if (since_ms != UINT64_MAX && until_ms != UINT64_MAX && since_ms >= until_ms) {
        error_set(error, ERROR_USAGE, "--since %s is not before --until %s", since, until);
        return error_hint(error, "memoir help moments");
    }
    if (window && (at || base)) {
        error_set(error, ERROR_USAGE, "time shows a whole run, and can do nothing with %s",
                  at ? "--at" : "--base");
        return error_hint(error, "--since 10s --until 20s   shows a part of it");
    }
    if (!window && (base || since) && commands_answer(verb)->base == BASE_NONE) {
        error_set(error, ERROR_USAGE, "%s is about one moment, and can do nothing with %s", verb,
                  base ? "--base" : "--since");
        return error_hint(error, "memoir diff, top, tree, peek, traces and list compare");
    }
    return true;
}

/* The time of the part of a run that `time` shows, since its start. */
static bool window_end(const struct loaded *loaded, const char *flag, const char *value,
                       int64_t *time_ns, struct error *error)
{
    uint64_t time_ms = UINT64_MAX;
    const struct profile *profile = &loaded->profile;
    if (!value)
        return true;
    read_is_moment(value, &time_ms);
    if (strcmp(value, "peak") == 0)
        *time_ns = profile->peak_time_ns;
    else if (strcmp(value, "end") == 0)
        *time_ns = profile->duration_ns;
    else if (time_ms == UINT64_MAX)
        return error_set(error, ERROR_USAGE,
                         "%s takes a time here, such as 10s, not the number of "
                         "a snapshot",
                         flag);
    else
        *time_ns = time_ms < INT64_MAX / 1000000 ? (int64_t)time_ms * 1000000 : INT64_MAX;
    if (*time_ns <= profile->duration_ns)
        return true;
    char text[32];
    return error_set(error, ERROR_USAGE, "there is nothing at %s: %s ends after %s", value,
                     loaded->name, style_time(text, profile->duration_ns));
}

bool load_window(struct loaded *loaded, const struct arguments *arguments, struct error *error)
{
    struct view_options *view = &loaded->view;
    if (strcmp(arguments->command->verb, "time") != 0)
        return true;
    return window_end(loaded, "--since", arguments_value(arguments, "--since"), &view->since_ns,
                      error) &&
           window_end(loaded, "--until", arguments_value(arguments, "--until"), &view->until_ns,
                      error);
}

void load_moment(struct loaded *loaded, const struct arguments *arguments)
{
    const struct profile *profile = &loaded->profile;
    int peak = profile_type_named(profile, "peak_space");
    bool base = !loaded->has_base || (profile_type_named(&loaded->base, "peak_space") >= 0 &&
                                      (loaded->base.ended || !profile->ended));
    bool live = (int)profile->default_type == profile_type_named(profile, "inuse_space");
    if (profile->ended && live && base && peak >= 0 && !arguments_value(arguments, "--metric") &&
        !arguments_value(arguments, "--age") && !arguments_value(arguments, "--at") &&
        !arguments_value(arguments, "--until") && !arguments_value(arguments, "--since"))
        loaded->view.type = (unsigned)peak;
}

void load_moment_type(struct loaded *loaded, const struct arguments *arguments)
{
    const struct profile *profile = &loaded->profile;
    const char *at =
        arguments_value(arguments, arguments_value(arguments, "--at") ? "--at" : "--until");
    int live = profile_type_named(profile, "inuse_space"),
        peak = profile_type_named(profile, "peak_space");
    bool several = profile->moments.count > 0;
    if (!at || profile->kind != PROFILE_HEAP)
        return;
    if (several && live >= 0) /* which is what the reader took from that moment */
        loaded->view.type = (unsigned)live;
    else if (strcmp(at, "peak") == 0 && peak >= 0)
        loaded->view.type = (unsigned)peak;
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

/* The last part of the program's path, or "". */
static const char *program_of(const struct profile *profile)
{
    const char *path = profile_text(profile, profile->program), *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A difference between two programs is rarely what is wanted, and looks like any other. */
static void programs_compare(const struct loaded *loaded)
{
    const char *now = program_of(&loaded->profile), *before = program_of(&loaded->base);
    if (loaded->has_base && *now && *before && strcmp(now, before) != 0)
        terminal_warn("%s is of the program %s, and %s of %s", loaded->base_name, before,
                      loaded->name, now);
}

/* The profile becomes what it has more than the other one. */
bool load_base_take(struct loaded *loaded, const struct arguments *arguments, struct error *error)
{
    struct profile *profile = &loaded->profile;
    const struct profile *base = &loaded->base;
    bool since = arguments_value(arguments, "--since") != NULL;
    programs_compare(loaded);
    if (!loaded->has_base || commands_answer(arguments->command->verb)->base != BASE_TAKEN)
        return true;
    for (unsigned i = 0; i < profile->types; i++) {
        const char *name = profile_text(profile, profile->type[i].name);
        if (i == loaded->view.type && base->types > 0 && profile_type_named(base, name) < 0) {
            error_set(error, ERROR_USAGE, "%s has no metric '%s', so it can't be compared with %s",
                      loaded->base_name, name, loaded->name);
            return error_hint(error, "--metric picks a metric that both have");
        }
    }
    int64_t duration_ns = profile->duration_ns - base->duration_ns;
    if (!profile_merge(profile, base, -1))
        return error_set(error, ERROR_INPUT, "out of memory");
    if (since && (!moment_name(&loaded->base_name, base) || !moment_name(&loaded->name, profile)))
        return error_set(error, ERROR_INPUT, "out of memory");
    if (since)
        profile->duration_ns = duration_ns;
    loaded->has_base = false;
    loaded->view.base = NULL;
    return true;
}
