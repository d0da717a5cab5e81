/* SPDX-License-Identifier: MIT */
/* See tool/suggest.h. */
#include "tool/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "tool/session.h"
#include "tool/terminal/terminal.h"

static bool function_nearest(const struct profile *profile, const char *word, char *name);

bool suggest_refuse(const struct request *request, const struct view_error *reason,
                    struct error *error)
{
    char name[SUGGEST_ROOM];
    if (!reason->no_function)
        return error_set(error, ERROR_USAGE, "%s", reason->text);
    error_set(error, ERROR_INPUT, "%s in %s", reason->text, request->name);
    if (function_nearest(request->profile, request->rest[0], name) &&
        strcmp(name, request->rest[0]) == 0)
        error_set(error, ERROR_INPUT, "'%s' %s", name,
                  request->base_name ? "is the same in both" : "has no memory here");
    else if (name[0])
        return error_hint(error, "did you mean %s?", name);
    bool named = request_word(request) != NULL;
    unsigned time;
    if (strcmp(name, request->rest[0]) == 0 && metric_has(request->profile, METRIC_CPU, &time) &&
        time != request->options.type)
        return error_hint(error, "--metric cpu   shows its time");
    return error_hint(error, "memoir top%s%s --by function   lists all functions", named ? " " : "",
                      named ? suggest_quoted(name, sizeof name, request_word(request)) : "");
}

/* Names are compared without their parameters, as a whole and without their namespace. */
static bool function_nearest(const struct profile *profile, const char *word, char *name)
{
    const struct profile_function *functions = profile->functions.items;
    size_t best = nearest_max(strlen(word)) + 1;
    name[0] = '\0';
    for (size_t i = 0; i < profile->functions.count; i++) {
        const char *whole = profile_text(profile, functions[i].name), *last = whole;
        size_t length = strcspn(whole, "(<[ ");
        for (size_t k = 0; k + 2 < length; k++)
            if (whole[k] == ':' && whole[k + 1] == ':')
                last = whole + k + 2;
        if (suggest_is_nearer(word, whole, length, &best) ||
            suggest_is_nearer(word, last, length - (size_t)(last - whole), &best))
            snprintf(name, SUGGEST_ROOM, "%.*s", (int)length, whole);
    }
    terminal_clean(name, strlen(name));
    return name[0] != '\0';
}

void suggest_nothing(const struct request *request)
{
    const struct profile *profile = request->profile;
    char name[SUGGEST_ROOM];
    const char *word = request_word(request) ? request_word(request) : request->name;
    if (profile->samples.count == 0)
        terminal_warn("%s has no samples; memoir doctor %s   shows why", request->name,
                      suggest_quoted(name, sizeof name, word));
    else
        terminal_warn("%s has no %s; choose another with --metric: memoir help metrics",
                      request->name,
                      profile_text(profile, profile->type[request->options.type].name));
}

void suggest_filters(const struct request *request, const struct view *view)
{
    const char *const *focus = request->options.focus;
    const struct view_value *total = &view->total, *whole = &view->whole;
    char name[SUGGEST_ROOM];
    bool nothing = request->profile->samples.count == 0 &&
                   (!request->base || request->base->samples.count == 0);
    if (nothing)
        suggest_nothing(request);
    if (nothing || total->value || total->base || total->objects || (!whole->value && !whole->base))
        return;
    if (view->kept > 0)
        terminal_warn(
            "the stacks that match have no %s; choose another with --metric",
            profile_text(request->profile, request->profile->type[request->options.type].name));
    else if (!focus || !focus[0])
        terminal_warn("no stack matches the filters");
    else if (commands_find(focus[0]))
        terminal_warn("no stack matches '%s'; it is a command: run one at a time", focus[0]);
    else if (suggest_file_nearest(focus[0], name))
        terminal_warn("no stack matches '%s'; did you mean the file %s?", focus[0], name);
    else if (function_nearest(request->profile, focus[0], name) && strcmp(name, focus[0]) == 0)
        terminal_warn("no stack matches '%s' and the other filters", focus[0]);
    else if (name[0])
        terminal_warn("no stack matches '%s'; did you mean %s?", focus[0], name);
    else if (request->words.newest && !focus[1]) /* no file was named: perhaps this is one */
        terminal_warn("no stack matches '%s', and there is no file '%s'", focus[0], focus[0]);
    else
        terminal_warn("no stack matches '%s'%s", focus[0], focus[1] ? " and the other words" : "");
}
