/* SPDX-License-Identifier: MIT */
/*
 * `memoir export`, `merge` and `redact`: profiles into files of other tools' formats, and into
 * pictures. They differ in what happens to the profile in between.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/command/command.h"
#include "tool/picture_kind.h"
#include "tool/profile/write/write.h"
#include "tool/render_picture.h"
#include "tool/session.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"

/* Where a profile goes. */
struct target {
    const char *path;
    char *name; /* the path without an ending that only says how it is packed */
    const struct writer *writer;
    bool picture; /* or that (tool/render_picture.h) */
    bool packed;
};

/* The patterns of --keep. */
struct keepers {
    struct pattern *patterns;
    size_t count;
};

struct redaction {
    struct target target;
    struct keepers keepers;
    struct redact_counts counts;
};

static bool export_render(struct request *request, struct error *error);
static bool export_profile(struct request *request, const struct target *target,
                           struct error *error);
static bool format_unknown(const struct arguments *arguments, const char *path,
                           struct error *error);
static bool redacts(const struct arguments *arguments);
static bool profiles_filter(struct request *request, struct error *error);
static bool base_take(struct request *request, struct error *error);
static bool is_nothing(const struct profile *profile, const struct target *target, unsigned type);
static bool target_write(const struct target *target, const struct profile *profile,
                         const struct write_options *options, struct error *error);
static bool target_find(struct target *target, const struct arguments *arguments,
                        struct error *error);
static void target_free(struct target *target);
static bool redact_render(struct request *request, struct error *error);
static bool keeps(void *context, const char *text);
static void counts_say(const struct redact_counts *counts);
static bool keepers_make(struct keepers *keepers, const struct arguments *arguments,
                         struct error *error);
static bool redact_check(const struct target *target, struct error *error);
static void keepers_free(struct keepers *keepers);

bool verb_export(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.viewless = true, .render = export_render};
    struct target target;
    bool done =
        target_find(&target, arguments, error) && session_ask(arguments, &answer, &target, error);
    target_free(&target);
    return done;
}

static bool export_render(struct request *request, struct error *error)
{
    const struct target *target = request->context;
    return target->picture ? picture_write(request, target->path, true, error)
                           : export_profile(request, target, error);
}

static bool export_profile(struct request *request, const struct target *target,
                           struct error *error)
{
    if (!target->writer)
        return format_unknown(request->arguments, target->path, error);
    if (target->writer->values != WRITES_ALL) /* the same as in tables and pictures */
        request_moment(request);
    struct write_options options = {.type = request->options.type};
    if (!profiles_filter(request, error))
        return false;
    if (target->writer->values == WRITES_TWO) {
        if (!request->base) {
            error_set(error, ERROR_USAGE, "%s compares two profiles: --base FILE is missing",
                      target->writer->word);
            return error_hint(error, "memoir export AFTER --base BEFORE -o %s", target->path);
        }
        options.base = request->base;
    } else if (!base_take(request, error)) {
        return false;
    }
    if (is_nothing(request->profile, target, options.type))
        suggest_nothing(request);
    return target_write(target, request->profile, &options, error);
}

static bool format_unknown(const struct arguments *arguments, const char *path, struct error *error)
{
    bool picture = !redacts(arguments);
    char known[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < writers_count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, " %s", writers[i]->ending);
    if (picture && used < sizeof known)
        snprintf(known + used, sizeof known - used, "%s", picture_endings);
    if (!picture && picture_format_of(path)) {
        error_set(error, ERROR_USAGE, "%s: redact writes profiles, not pictures", path);
        return error_hint(error, "memoir redact ... -o x.pb.gz, then memoir export x.pb.gz -o %s",
                          path);
    }
    if (strcmp(path, "-") == 0) {
        error_set(error, ERROR_USAGE, "standard output needs --format");
        return error_hint(error, "memoir %s ... --format folded -o -", arguments->command->verb);
    }
    error_set(error, ERROR_USAGE, "%s: unknown ending for a profile", path);
    return error_hint(error, "endings are:%s", known);
}

/* The verb that writes profiles alone. */
static bool redacts(const struct arguments *arguments)
{
    return arguments->command->run == verb_redact;
}

/* What the filters leave of both profiles, which are this request's own from here on. */
static bool profiles_filter(struct request *request, struct error *error)
{
    struct view_error reason = {.text = ""};
    if (!request_change(request, error))
        return false;
    return (narrow(&request->changed, &request->options, &reason) &&
            (!request->base || narrow(&request->changed_base, &request->options, &reason))) ||
           error_set(error, ERROR_USAGE, "%s", reason.text);
}

/* The profile becomes what it has more than the base. */
static bool base_take(struct request *request, struct error *error)
{
    return !request->base || profile_merge(&request->changed, request->base, -1) ||
           error_memory(error);
}

/* Whether there will be nothing in the file; formats of one column have none of the others. */
static bool is_nothing(const struct profile *profile, const struct target *target, unsigned type)
{
    bool any = target->writer->values == WRITES_ALL && profile->samples.count > 0;
    for (size_t i = 0; i < profile->samples.count && !any; i++)
        any = profile->samples.values[type][i] != 0;
    return !any;
}

static bool target_write(const struct target *target, const struct profile *profile,
                         const struct write_options *options, struct error *error)
{
    struct output output;
    bool done = output_start(&output, target->path, error);
    if (!done)
        return false;
    progress_start("writing", target->path);
    done = (!target->packed || output_pack(&output, target->path, error)) &&
           ((target->writer && target->writer->write(profile, options, output.file)) ||
            error_memory(error));
    done = output_end(&output, done, error) && done;
    progress_end();
    if (done)
        output_say(&output, target->path);
    char mark[ESTIMATE_TEXT];
    if (done && target->writer->mute && estimate_text(profile, mark)[0] != '\0')
        terminal_warn("%s: the numbers are estimates, which this format can't express",
                      target->path);
    return done;
}

static bool target_find(struct target *target, const struct arguments *arguments,
                        struct error *error)
{
    const char *word = arguments_value(arguments, FLAG_FORMAT);
    memset(target, 0, sizeof *target);
    target->path = arguments_value(arguments, FLAG_OUTPUT);
    if (!target->path && word)
        target->path = "-";
    if (!target->path) {
        error_set(error, ERROR_USAGE, "%s needs an output file, whose ending selects the format",
                  arguments->command->verb);
        return error_hint(error, "memoir %s FILE -o profile.pb.gz", arguments->command->verb);
    }
    target->name = strndup(target->path, pack_stem(target->path));
    if (!target->name)
        return error_memory(error);
    target->packed = strcmp(target->name, target->path) != 0;
    if (!word && !redacts(arguments) && picture_wanted(arguments, target->name)) {
        target->picture = true;
        return picture_check(arguments, target->name, error);
    }
    target->writer = write_find(word ? word : target->path);
    if (!target->writer)
        target->writer = write_find(target->name);
    else if (!word || target->writer->packed)
        target->packed = false; /* the ending is the format's own */
    if (!target->writer)
        return format_unknown(arguments, target->name, error);
    if (target->writer->binary && strcmp(target->path, "-") == 0 && isatty(STDOUT_FILENO))
        return error_set(error, ERROR_USAGE, "this format is binary, not for a terminal: -o FILE");
    return true;
}

static void target_free(struct target *target)
{
    free(target->name);
}

bool verb_merge(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.viewless = true, .add_up = true, .render = export_render};
    struct target target;
    bool done =
        target_find(&target, arguments, error) && session_ask(arguments, &answer, &target, error);
    target_free(&target);
    return done;
}

bool verb_redact(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {.viewless = true, .render = redact_render};
    struct redaction redaction = {0};
    bool done = target_find(&redaction.target, arguments, error) && redaction.target.writer &&
                keepers_make(&redaction.keepers, arguments, error) &&
                redact_check(&redaction.target, error) &&
                session_ask(arguments, &answer, &redaction, error);
    keepers_free(&redaction.keepers);
    target_free(&redaction.target);
    return done;
}

/* With a base, the differences. */
static bool redact_render(struct request *request, struct error *error)
{
    struct redaction *redaction = request->context;
    const struct target *target = &redaction->target;
    const struct redact_options how = {.keep = keeps, .context = &redaction->keepers};
    if (!profiles_filter(request, error) || !base_take(request, error))
        return false;
    if (!profile_redact(&request->changed, &how, &redaction->counts))
        return error_memory(error);
    if (target->writer->values != WRITES_ALL)
        request_moment(request);
    struct write_options options = {.type = request->options.type};
    if (!target_write(target, request->profile, &options, error))
        return false;
    counts_say(&redaction->counts);
    return true;
}

static bool keeps(void *context, const char *text)
{
    const struct keepers *keepers = context;
    for (size_t i = 0; i < keepers->count; i++)
        if (pattern_fits(&keepers->patterns[i], text))
            return true;
    return false;
}

static void counts_say(const struct redact_counts *counts)
{
    if (!terminal_is_quiet())
        fprintf(stderr,
                "memoir: replaced %" PRIu64 " functions, %" PRIu64 " files, %" PRIu64
                " paths, %" PRIu64 " other texts; kept %" PRIu64 " functions\n",
                counts->functions, counts->files, counts->paths, counts->texts, counts->kept);
}

static bool keepers_make(struct keepers *keepers, const struct arguments *arguments,
                         struct error *error)
{
    struct view_error reason = {.text = ""};
    keepers->count = 0;
    keepers->patterns = calloc(arguments->flags_count + 1, sizeof *keepers->patterns);
    if (!keepers->patterns)
        return error_memory(error);
    for (size_t i = 0; i < arguments->flags_count; i++) {
        const struct arguments_flag *flag = &arguments->flags[i];
        if (flag->flag->id == FLAG_KEEP &&
            !pattern_make(&keepers->patterns[keepers->count++], "--keep", flag->value, &reason))
            return error_set(error, ERROR_USAGE, "%s", reason.text);
    }
    return true;
}

static bool redact_check(const struct target *target, struct error *error)
{
    if (target->writer->values != WRITES_TWO)
        return true;
    error_set(error, ERROR_USAGE, "%s compares two profiles, and redact writes one",
              target->writer->word);
    return error_hint(error, "redact both, then   memoir export AFTER --base BEFORE -o %s",
                      target->path);
}

static void keepers_free(struct keepers *keepers)
{
    for (size_t i = 0; i < keepers->count; i++)
        pattern_free(&keepers->patterns[i]);
    free(keepers->patterns);
}
