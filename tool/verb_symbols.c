/* SPDX-License-Identifier: MIT */
/*
 * `memoir symbols`: for each program and library of a profile, how good its names are, where they
 * came from, and what would make them better.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tool/advice.h"
#include "tool/command/command.h"
#include "tool/profile/write/write.h"
#include "tool/session.h"
#include "tool/terminal/terminal.h"

enum { ADVICE_MAX = 5 }; /* more would push the table off the screen */

static const char *const quality_words[] = {
    [SYMBOL_NOTHING] = "no file", [SYMBOL_MISMATCH] = "another build",
    [SYMBOL_EXPORTS] = "exports", [SYMBOL_TABLE] = "functions",
    [SYMBOL_FULL] = "lines",      [SYMBOL_GIVEN] = "in the profile",
};

static bool symbols_render(struct request *request, struct error *error);
static bool profile_embed(const struct request *request, const char *path, struct error *error);
static void modules_print_json(const struct request *request, const struct style *style);
static void modules_print(const struct request *request, const struct style *style);

bool verb_symbols(const struct arguments *arguments, struct error *error)
{
    static const struct answer answer = {
        .viewless = true, .no_patterns = true, .render = symbols_render};
    if (arguments_value(arguments, FLAG_EMBED) && !arguments_value(arguments, FLAG_OUTPUT)) {
        error_set(error, ERROR_USAGE, "--embed needs an output file");
        return error_hint(error, "memoir symbols PROFILE --embed -o named.pb.gz");
    }
    return session_ask(arguments, &answer, NULL, error);
}

static bool symbols_render(struct request *request, struct error *error)
{
    const char *output = arguments_value(request->arguments, FLAG_OUTPUT);
    if (arguments_value(request->arguments, FLAG_EMBED)) {
        if (!profile_embed(request, output, error))
            return false;
        if (strcmp(output, "-") != 0)
            printf("%s   %lu of %lu addresses named\n", output,
                   profile_names_of(request->profile).named,
                   profile_names_of(request->profile).addresses);
        return true;
    }
    if (!request_open(request, error))
        return false;
    if (request->style.format == STYLE_JSON)
        modules_print_json(request, &request->style);
    else
        modules_print(request, &request->style);
    return request_close(request, true, error);
}

/* The profile with its names in it, so that it can be read anywhere. */
static bool profile_embed(const struct request *request, const char *path, struct error *error)
{
    const struct write_options options = {.type = request->profile->default_type};
    struct output output;
    if (!output_start(&output, path, error))
        return false;
    bool ok = writer_pprof.write(request->profile, &options, output.file) || error_memory(error);
    return output_end(&output, ok, error);
}

static void modules_print_json(const struct request *request, const struct style *style)
{
    const struct symbol_report *report = request_symbols(request);
    struct profile_names names = profile_names_of(request->profile);
    struct json json;
    json_start(&json, style->out, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.symbols/1");
    json_text(&json, "input", style->name);
    json_number(&json, "locations", (int64_t)names.addresses);
    json_number(&json, "named", (int64_t)names.named);
    json_number(&json, "guessed", (int64_t)names.nearest);
    json_array(&json, "modules");
    for (size_t i = 0; i < report->count; i++) {
        const struct symbol_module *module = &report->modules[i];
        static const char *const words[] = {"nothing", "mismatch", "exports",
                                            "table",   "full",     "given"};
        char advice[ADVICE_SIZE];
        advice_of(module, advice);
        json_object(&json, NULL);
        json_text(&json, "path", module->path);
        json_text(&json, "build_id", module->build_id);
        json_text(&json, "quality", words[module->quality]);
        json_number(&json, "locations", (int64_t)module->locations);
        json_number(&json, "named", (int64_t)(module->named - module->guessed));
        json_number(&json, "guessed", (int64_t)module->guessed);
        json_flag(&json, "by_path_only", module->unsure);
        if (module->file)
            json_text(&json, "file", module->file);
        if (module->debug_file)
            json_text(&json, "debug_file", module->debug_file);
        if (module->bundle_file)
            json_text(&json, "bundle_file", module->bundle_file);
        if (module->other_file)
            json_text(&json, "other_file", module->other_file);
        if (advice[0])
            json_text(&json, "advice", advice);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    fputc('\n', style->out);
}

static void modules_print(const struct request *request, const struct style *style)
{
    const struct symbol_report *report = request_symbols(request);
    struct profile_names names = profile_names_of(request->profile);
    char path[64], named[64];
    unsigned shown = 0;
    fprintf(style->out, "%s    %.1f %% of %lu addresses named", style->name,
            100 * profile_names_share(request->profile), names.addresses);
    if (names.nearest > 0)
        fprintf(style->out, ", %lu more only by the nearest symbol", names.nearest);
    fprintf(style->out, "\n    %15s  %-14s  %-8s  %-24s  %s\n", "named", "kind of names",
            "build id", "module", "from");
    for (size_t i = 0; i < report->count; i++) {
        const struct symbol_module *module = &report->modules[i];
        char from[PATH_MAX];
        style_copy(from, sizeof from,
                   module->debug_file ? module->debug_file
                   : module->file     ? module->file
                                      : "");
        if (style->rows > 0 && i >= style->rows)
            break;
        snprintf(named, sizeof named, "%lu/%lu", module->named - module->guessed,
                 module->locations);
        snprintf(path, sizeof path, "%s",
                 module->path[0] ? name_base(module->path) : "(outside of any file)");
        style_clean(path);
        fprintf(style->out, "    %15s  %-14s  %-8.8s  %-24s  ", named,
                module->quality == SYMBOL_NOTHING && module->file ? "no symbols"
                                                                  : quality_words[module->quality],
                module->build_id[0] ? module->build_id : "-", path);
        style_dim(style, from);
        fprintf(style->out, "%s\n", module->unsure ? "  (found by path: no build id)" : "");
    }
    for (size_t i = 0; i < report->count && shown < ADVICE_MAX; i++) {
        char advice[ADVICE_SIZE];
        advice_of(&report->modules[i], advice);
        if (advice[0] == '\0')
            continue;
        style_clean(advice);
        snprintf(path, sizeof path, "%s", name_base(report->modules[i].path));
        style_clean(path);
        fprintf(style->out, "%s    %-24s  %s\n", shown++ == 0 ? "for better names:\n" : "", path,
                advice);
    }
}
