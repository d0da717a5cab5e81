/* SPDX-License-Identifier: MIT */
/*
 * See tool/session.h: the driver of all verbs that read profiles. session_ask is the whole way from
 * arguments to an answer; its five steps stand below it in their order, but for request_choose in
 * session_choose.c. The steps do not call each other, and what one leaves for the next is in
 * `struct request`.
 *
 * Nothing here outlives a request but what the caller's session has: the shell asks one session
 * again and again.
 */
#include "tool/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/advice.h"
#include "tool/picture_kind.h"
#include "tool/process/process.h"
#include "tool/suggest.h"

static bool request_start(struct request *request, struct error *error);
static bool request_read(struct request *request, struct error *error);
static bool request_name(struct request *request, struct error *error);
static bool request_view(struct request *request, struct error *error);
static bool request_render(struct request *request, struct error *error);
static void request_free(struct request *request);

bool session_ask(const struct arguments *arguments, const struct answer *answer, void *context,
                 struct error *error)
{
    struct request request = {.arguments = arguments,
                              .answer = answer,
                              .context = context,
                              .session = arguments->session};
    bool ok = request_start(&request, error) &&
              request_read(&request, error) &&   /* words into profiles */
              request_name(&request, error) &&   /* addresses into functions and lines */
              request_choose(&request, error) && /* flags into metric, filters, moment */
              request_view(&request, error) &&   /* the profile as it is asked about */
              request_render(&request, error);   /* the answer */
    request_free(&request);
    return ok;
}

/* What is wrong with the flags is said before anything is read. */
static bool request_start(struct request *request, struct error *error)
{
    const char *output = arguments_value(request->arguments, FLAG_OUTPUT);
    profile_start(&request->own.profile);
    profile_start(&request->own.base);
    if (request->own.profile.failed || request->own.base.failed)
        return error_memory(error);
    request->picture = request->answer->draw && output && picture_format_of(output);
    return (!request->picture || picture_check(request->arguments, output, error)) &&
           request_check(request, error);
}

static void session_free(struct session *session)
{
    profile_free(&session->profile);
    profile_free(&session->base);
    symbol_report_free(&session->symbols);
    free(session->name);
    free(session->base_name);
}

static void request_free(struct request *request)
{
    view_free(&request->view);
    if (request->is_changed) {
        profile_free(&request->changed);
        profile_free(&request->changed_base);
    }
    session_free(&request->own);
    free(request->name);
    free(request->base_name);
    free(request->words.inputs);
    free(request->words.focus);
    free(request->words.ignore);
    free(request->words.rest);
    free(request->words.newest);
}

/* ---- read ------------------------------------------------------------------------------- */

static bool word_sort(struct request *request, char *word, struct error *error)
{
    struct session_words *words = &request->words;
    if (strncmp(word, "--", 2) == 0 && strcspn(word, "=") > 2) { /* it stands behind one */
        error_set(error, ERROR_USAGE, "'%s' follows '--', after which nothing is a flag", word);
        return error_hint(error, "put it before '--'; to leave out what matches it: --ignore '%s'",
                          word + 1);
    }
    if (word[0] == '-' && word[1] != '\0') {
        words->ignore[words->ignore_count++] = word + 1;
        return true;
    }
    switch (input_kind_of(word)) {
    case INPUT_PROGRAM:
        if (request->program)
            return error_set(error, ERROR_USAGE, "two programs: %s and %s", request->program, word);
        request->program = word;
        return true;
    case INPUT_FILE:
    case INPUT_PROCESS:
    case INPUT_URL:
        words->inputs[words->inputs_count++] = word;
        return true;
    case INPUT_NOTHING:
        break;
    }
    if (input_looks_like_file(word) || request->answer->no_patterns)
        return input_missing(word, error);
    if (request->answer->function && words->rest_count == 0)
        words->rest[words->rest_count++] = word;
    else
        words->focus[words->focus_count++] = word;
    return true;
}

/* No profile is among the words. A folder or a program was not meant as a pattern then. */
static bool lone_words_fit(const struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    for (size_t i = 0; i < arguments->operands_count; i++) {
        const char *word = arguments->operands[i];
        enum input_kind kind = input_kind_of(word);
        if (word[0] == '\0') {
            error_set(error, ERROR_USAGE, "a profile with no name: '' is not a file");
            return error_hint(error, "memoir %s FILE", arguments->command->verb);
        }
        if (kind == INPUT_PROGRAM && word == request->program) {
            error_set(error, ERROR_USAGE, "%s is a program, not a profile", word);
            return error_hint(error, "memoir run -- %s%s", strchr(word, '/') ? "" : "./", word);
        }
        if (kind == INPUT_NOTHING && access(word, F_OK) == 0)
            return input_missing(word, error);
    }
    return true;
}

static bool words_sort(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    struct session_words *words = &request->words;
    size_t max = arguments->operands_count + arguments->flags_count + 2;
    words->inputs = calloc(max, sizeof *words->inputs);
    words->focus = calloc(max, sizeof *words->focus);
    words->ignore = calloc(max, sizeof *words->ignore);
    words->rest = calloc(max, sizeof *words->rest);
    if (!words->inputs || !words->focus || !words->ignore || !words->rest)
        return error_memory(error);
    request->program = arguments_value(arguments, FLAG_PROGRAM);
    for (size_t i = 0; i < arguments->operands_count; i++)
        if (!word_sort(request, arguments->operands[i], error))
            return false;
    for (size_t i = 0; i < arguments->flags_count; i++) {
        const struct arguments_flag *flag = &arguments->flags[i];
        if (flag->flag->id == FLAG_FOCUS)
            words->focus[words->focus_count++] = flag->value;
        else if (flag->flag->id == FLAG_IGNORE)
            words->ignore[words->ignore_count++] = flag->value;
    }
    request->rest = words->rest;
    request->options.focus = words->focus;
    request->options.ignore = words->ignore;
    if (words->inputs_count > 0 || request->session)
        return true;
    if (!lone_words_fit(request, error))
        return false;
    words->newest = input_newest();
    if (words->newest) {
        words->inputs[words->inputs_count++] = words->newest;
        return true;
    }
    error_set(error, ERROR_USAGE, "%s needs a profile, and there is no *.memoir in this folder",
              arguments->command->verb);
    if (words->focus && words->focus[0])
        error_set(error, ERROR_USAGE,
                  "%s needs a profile: there is no file '%s' and no *.memoir in this "
                  "folder",
                  arguments->command->verb, words->focus[0]);
    return error_hint(error, "give a file of any format, a process id (memoir ps), or a URL; to "
                             "record one: memoir run -- ./program");
}

/* --since: the base is the same capture at an earlier moment. */
static bool since_read(struct request *request, bool several, const struct input_options *options,
                       struct error *error)
{
    struct session *own = &request->own;
    const char *since = arguments_value(request->arguments, FLAG_SINCE);
    const char *input = request->words.inputs[0];
    struct input_options then = *options;
    int64_t pid = 0;
    then.read.at = since;
    if (several || input_kind_of(input) != INPUT_FILE || strcmp(input, "-") == 0) {
        error_set(error, ERROR_USAGE, "--since needs a single capture file");
        return error_hint(error, "memoir diff BEFORE AFTER   compares two");
    }
    if (own->profile.moments.count < 2) {
        error_set(error, ERROR_USAGE, "%s has a single moment: --since needs an earlier one",
                  input);
        return error_hint(error, "memoir run --every 1s -- ./program   records more");
    }
    own->has_base = true;
    own->base_name = strdup(own->name);
    if (!input_read_all(&own->base, &input, 1, &then, &pid, error))
        return false;
    if (own->base.at_peak || own->base.duration_ns < own->profile.duration_ns)
        return true;
    error_set(error, ERROR_USAGE, "--since %s is not before the moment shown", since);
    return error_hint(error, "memoir time %s   shows the times of its snapshots", input);
}

/* Without a profile among the words: that of the session; of two that are compared it is the first.
 */
static bool session_take(struct request *request, const struct input_options *options,
                         struct error *error)
{
    const struct session_words *words = &request->words;
    const struct arguments *arguments = request->arguments;
    const char *base = arguments_value(arguments, FLAG_BASE);
    struct session *own = &request->own, *session = request->session;
    int64_t base_pid = 0;
    if (options->read.at || arguments_value(arguments, FLAG_SINCE)) {
        error_set(error, ERROR_USAGE, "%s needs a file, but the shell's profile is already loaded",
                  options->read.at ? "--at" : "--since");
        return error_hint(error, "memoir %s FILE %s ...   outside of this shell",
                          arguments->command->verb, options->read.at ? "--at" : "--since");
    }
    if (words->inputs_count == 1) {
        own->name = input_name_of(words->inputs, 1);
        request->profile = &own->profile;
        request->base = &session->profile;
        request->of = own;
        return input_read_all(&own->profile, words->inputs, 1, options, &own->symbol_options.pid,
                              error);
    }
    request->of = session;
    request->profile = &session->profile;
    request->base = session->has_base ? &session->base : NULL;
    if (!base)
        return true;
    request->base = &own->base;
    own->base_name = strdup(base);
    return input_read_all(&own->base, &base, 1, options, &base_pid, error);
}

/* What the words name, into `own`. */
static bool words_read(struct request *request, const struct input_options *options, bool two,
                       struct error *error)
{
    const struct arguments *arguments = request->arguments;
    const char *const *inputs = request->words.inputs;
    const char *base = arguments_value(arguments, FLAG_BASE);
    struct session *own = &request->own;
    size_t count = request->words.inputs_count;
    int64_t base_pid = 0;
    request->session = NULL;
    if (!base && count > 1 && two) {
        base = *inputs++;
        count--;
    }
    own->name = input_name_of(inputs, count);
    request->of = own;
    request->profile = &own->profile;
    if (!own->name)
        return error_memory(error);
    if (!input_read_all(&own->profile, inputs, count, options, &own->symbol_options.pid, error))
        return false;
    if (arguments_value(arguments, FLAG_SINCE) && !request->answer->window)
        return since_read(request, base || count > 1, options, error);
    if (!base)
        return true;
    own->has_base = true;
    own->base_name = strdup(base);
    return input_read_all(&own->base, &base, 1, options, &base_pid, error);
}

/* The names for people, by which the profiles are called in the answer. */
static bool names_take(struct request *request, struct error *error)
{
    const struct session *session = request->session, *own = &request->own;
    const char *name = own->name ? own->name : session ? session->name : NULL;
    const char *base_name = own->base_name ? own->base_name : NULL;
    if (!base_name && session)
        base_name = request->base == &session->profile ? session->name : session->base_name;
    request->name = name ? strdup(name) : NULL;
    request->base_name = request->base && base_name ? strdup(base_name) : NULL;
    return (request->name && (!request->base || request->base_name)) || error_memory(error);
}

/* Columns that only some answers need: files of other formats are written without them. */
static bool wants_pins(const struct request *request)
{
    const char *metric = arguments_value(request->arguments, FLAG_METRIC);
    const char *output = arguments_value(request->arguments, FLAG_OUTPUT);
    const char *pinned = metrics[METRIC_PINNED].word; /* names of columns begin with it, too */
    return request->answer->pins || (metric && strncmp(metric, pinned, strlen(pinned)) == 0) ||
           (output && picture_format_of(output) == PICTURE_HTML);
}

static bool request_read(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    const char *seconds = arguments_value(arguments, FLAG_SECONDS);
    const char *at =
        arguments_value(arguments, arguments_value(arguments, FLAG_AT) ? FLAG_AT : FLAG_UNTIL);
    bool two = arguments->command->takes == TAKES_TWO_PROFILES;
    if (!words_sort(request, error))
        return false;
    const struct input_options options = {
        .read.at = request->answer->window ? NULL : at, /* it shows many moments */
        .read.thread = arguments_value(arguments, FLAG_THREAD),
        .read.pins = wants_pins(request),
        .seconds = seconds ? (unsigned)strtoul(seconds, NULL, 10) : 0,
        .add_up = request->answer->add_up,
        .ask = request->answer->ask,
    };
    size_t count = request->words.inputs_count;
    bool taken = request->session &&
                 (count == 0 || (count == 1 && two && !arguments_value(arguments, FLAG_BASE)));
    bool ok =
        taken ? session_take(request, &options, error) : words_read(request, &options, two, error);
    if (!ok && request->words.newest && error->status == ERROR_INPUT)
        return error_hint(error, "this is the newest *.memoir of this folder: name another one");
    if (ok && request->own.has_base)
        request->base = &request->own.base;
    return ok && names_take(request, error);
}

/* ---- name ------------------------------------------------------------------------------- */

static void symbols_progress(void *context, const char *module, uint64_t done, uint64_t all)
{
    (void)context;
    progress_update(name_base(module), done, all);
}

/* Those of the profiles that were read for this request: a session has its names. */
static bool request_name(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    struct session *own = &request->own;
    struct symbol_options *options = &own->symbol_options;
    struct symbol_report base_report = {0};
    bool ok = true;
    options->program = request->program;
    options->sysroot = arguments_value(arguments, FLAG_SYSROOT);
    options->debug_path = arguments_value(arguments, FLAG_DEBUG_PATH);
    options->fetch = arguments_value(arguments, FLAG_FETCH) != NULL;
    options->no_cache = arguments_value(arguments, FLAG_NO_CACHE) != NULL;
    options->progress = symbols_progress;
    progress_start("symbols", "");
    if (request->profile == &own->profile)
        ok = symbol_resolve(&own->profile, options, &own->symbols);
    if (ok && request->base == &own->base)
        ok = symbol_resolve(&own->base, options, &base_report);
    progress_end();
    symbol_report_free(&base_report);
    if (ok && options->fetch)
        advice_fetch(&own->symbols);
    const char *input = request->words.inputs[0];
    if (ok && input && request->profile == &own->profile && input_kind_of(input) == INPUT_URL)
        http_names(input, &(struct http_options){0}, &own->profile);
    return ok || error_memory(error);
}

/* ---- view ------------------------------------------------------------------------------- */

bool request_view_make(struct view *view, const struct request *request, struct error *error)
{
    struct view_error reason = {.text = ""};
    const struct profile *profile = request->profile;
    const char *type = request->options.type < profile->types
                           ? profile_text(profile, profile->type[request->options.type].name)
                           : "";
    if (request->base && request->base->types > 0 && profile_type_named(request->base, type) < 0) {
        error_set(error, ERROR_USAGE, "%s has no metric '%s', so it can't be compared with %s",
                  request->base_name, type, request->name);
        return error_hint(error, "--metric picks a metric that both have");
    }
    if ((request->options.age_min_us > 0 || request->options.age_max_us > 0) &&
        profile_type_blocks(type) != BLOCKS_ALLOCATED) {
        error_set(error, ERROR_USAGE,
                  "--age is the age of freed blocks, and '%s' counts live blocks", type);
        return error_hint(error, "--metric alloc or count; memoir churn shows short-lived blocks");
    }
    progress_start("sorting", request->name);
    bool ok = view_make(view, request->profile, &request->options, &reason);
    progress_end();
    if (ok)
        suggest_filters(request, view);
    return ok || error_set(error, ERROR_USAGE, "%s", reason.text);
}

static bool request_view(struct request *request, struct error *error)
{
    return request->picture || request->answer->viewless ||
           request_view_make(&request->view, request, error);
}

/* ---- render ----------------------------------------------------------------------------- */

static struct style style_of(const struct request *request)
{
    const struct arguments *arguments = request->arguments;
    const char *rows = arguments_value(arguments, FLAG_ROWS);
    struct style style = {
        .out = stdout,
        .format = arguments_value(arguments, FLAG_JSON)  ? STYLE_JSON
                  : arguments_value(arguments, FLAG_CSV) ? STYLE_CSV
                                                         : STYLE_TEXT,
        .width = terminal_width(),
        .rows = rows ? (unsigned)strtoul(rows, NULL, 10) : 0,
        .color = terminal_colors(),
        .utf8 = terminal_utf8(),
        .links = terminal_links(),
        .fits = terminal_fits(),
        .verbose = arguments_value(arguments, FLAG_VERBOSE) != NULL,
        .by_total = arguments_choice(arguments, FLAG_SORT, 0) == 1,
        .name = request->name,
        .base_name = request->base_name,
    };
    if (rows && style.rows == 0)
        style.rows = UINT32_MAX;
    return style;
}

bool request_open(struct request *request, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    struct style *style = &request->style;
    const char *output = arguments_value(arguments, FLAG_OUTPUT);
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    *style = style_of(request);
    if (output && name_ends_in(output, ".json"))
        style->format = STYLE_JSON;
    else if (output && name_ends_in(output, ".csv"))
        style->format = STYLE_CSV;
    if (style->format == STYLE_CSV && !commands_answer(arguments->command->id)->table) {
        error_set(error, ERROR_USAGE, "%s does not print a table, so there is no CSV",
                  arguments->command->verb);
        return error_hint(error, "--json has all its numbers");
    }
    if (output && picture_format_of(output)) {
        error_set(error, ERROR_USAGE, "%s has no picture", arguments->command->verb);
        return error_hint(error, "memoir export draws: memoir export %s -o %s", request->name,
                          output);
    }
    if (!output) {
        if (style->format == STYLE_TEXT)
            terminal_page();
        style->out = style->format == STYLE_TEXT ? wrap_output() : stdout;
        if (style->out != stdout || !terminal_fits()) /* wrap_write ends it */
            progress_start("drawing", request->name);
        return true;
    }
    if (!output_start(&request->output, output, error))
        return error_hint(error, "give -o FILE in a folder that exists and is writable");
    style->color = style->links = style->fits = false;
    style->out = request->output.file;
    progress_start("drawing", request->name);
    return true;
}

bool request_close(struct request *request, bool whole, struct error *error)
{
    const struct style *style = &request->style;
    progress_end();
    if (request->output.file)
        return output_end(&request->output, whole, error);
    if (style->out != stdout)
        fclose(style->out); /* standard output is looked at in the end */
    return whole;
}

static bool request_render(struct request *request, struct error *error)
{
    const struct answer *answer = request->answer;
    const char *output = arguments_value(request->arguments, FLAG_OUTPUT);
    bool metric = answer->picture_metric && !arguments_value(request->arguments, FLAG_METRIC);
    if (request->picture)
        return answer->draw(request, output, !metric, error);
    if (answer->render)
        return answer->render(request, error);
    if (!request_open(request, error))
        return false;
    answer->report(&request->view, &request->style);
    if (!request_close(request, true, error))
        return false;
    if (answer->next && request->style.format == STYLE_TEXT)
        answer->next(request);
    return true;
}

/* ---- for answers ------------------------------------------------------------------------ */

const char *request_word(const struct request *request)
{
    const struct session_words *words = &request->words;
    return words->newest || words->inputs_count != 1 ? NULL : words->inputs[0];
}

const struct symbol_report *request_symbols(const struct request *request)
{
    return &request->of->symbols;
}

const struct symbol_options *request_symbol_options(const struct request *request)
{
    return &request->of->symbol_options;
}

/* One that was read for this request is moved, one of the session is copied. */
static bool profile_take(struct profile *changed, const struct profile **profile,
                         struct profile *own)
{
    bool copied = *profile != own;
    bool ok = !copied || profile_copy(changed, *profile);
    if (!copied) {
        *changed = *own;
        memset(own, 0, sizeof *own);
    }
    *profile = changed;
    return ok;
}

bool request_change(struct request *request, struct error *error)
{
    if (request->is_changed)
        return true;
    request->is_changed = true;
    bool ok = profile_take(&request->changed, &request->profile, &request->own.profile) &&
              (!request->base ||
               profile_take(&request->changed_base, &request->base, &request->own.base));
    request->options.base = request->options.base ? request->base : NULL;
    return ok || error_memory(error);
}
