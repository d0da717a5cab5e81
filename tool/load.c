/* SPDX-License-Identifier: MIT */
/* See tool/load.h: sorting the words, reading, naming. Flags of the view are in load_view.c. */
#include "tool/load.h"

#include "tool/load_parts.h"
#include "tool/process/process.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool words_sort(struct loaded *loaded, const struct arguments *arguments,
                       struct error *error);
static bool profiles_read(struct loaded *loaded, const struct arguments *arguments,
                          struct error *error);
static bool names_find(struct loaded *loaded, const struct arguments *arguments,
                       struct error *error);
static void warnings_print(const struct profile *profile);

static struct loaded *given; /* by load_give */

void load_give(struct loaded *loaded)
{
    given = loaded;
}

bool load(struct loaded *loaded, const struct arguments *arguments, struct error *error)
{
    memset(loaded, 0, sizeof *loaded);
    profile_start(&loaded->profile);
    profile_start(&loaded->base);
    loaded->keep = calloc(1, sizeof *loaded->keep);
    if (!loaded->keep || loaded->profile.failed || loaded->base.failed)
        return error_set(error, ERROR_INPUT, "out of memory");
    if (!load_moment_check(arguments, error) || !words_sort(loaded, arguments, error))
        return false;
    if (!profiles_read(loaded, arguments, error))
        return loaded->keep->newest && error->status == ERROR_INPUT
                   ? error_hint(error, "it is the newest *.memoir of this folder: name another one")
                   : false;
    if (!loaded->name || (loaded->has_base && !loaded->base_name))
        return error_set(error, ERROR_INPUT, "out of memory");
    if (!names_find(loaded, arguments, error) || !load_view_options(loaded, arguments, error))
        return false;
    warnings_print(&loaded->profile);
    if (loaded->has_base)
        warnings_print(&loaded->base);
    return true;
}

void load_free(struct loaded *loaded)
{
    profile_free(&loaded->profile);
    profile_free(&loaded->base);
    symbol_report_free(&loaded->symbols);
    free(loaded->name);
    free(loaded->base_name);
    if (loaded->keep) {
        free(loaded->keep->inputs);
        free(loaded->keep->focus);
        free(loaded->keep->ignore);
        free(loaded->keep->rest);
        free(loaded->keep->newest);
    }
    free(loaded->keep);
    memset(loaded, 0, sizeof *loaded);
}

const char *load_word(const struct loaded *loaded)
{
    const struct load_words *words = loaded->keep;
    return words->newest || words->inputs_count != 1 ? NULL : words->inputs[0];
}

/* A word that was meant to be a file: it has a folder, or an ending that profiles have. */
static bool looks_like_file(const char *word)
{
    static const char *const endings[] = {".memoir", ".heap", ".pb.gz",  ".pb",   ".prof",
                                          ".gz",     ".zst",  ".folded", ".json", ".pprof"};
    size_t length = strlen(word);
    if (word[0] == '/' || strncmp(word, "./", 2) == 0 || strncmp(word, "../", 3) == 0)
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(word + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool word_sort(struct loaded *loaded, char *word, bool own, struct error *error)
{
    struct load_words *words = loaded->keep;
    if (strncmp(word, "--", 2) == 0 && strcspn(word, "=") > 2) { /* it stands behind one */
        error_set(error, ERROR_USAGE, "'%s' stands behind '--', where nothing is a flag", word);
        return error_hint(error, "put it before the '--'; as a pattern it is --ignore '%s'",
                          word + 1);
    }
    if (word[0] == '-' && word[1] != '\0') {
        words->ignore[words->ignore_count++] = word + 1;
        return true;
    }
    switch (input_kind_of(word)) {
    case INPUT_PROGRAM:
        if (loaded->program)
            return error_set(error, ERROR_USAGE, "two programs: %s and %s", loaded->program, word);
        loaded->program = word;
        return true;
    case INPUT_FILE:
    case INPUT_PROCESS:
    case INPUT_URL:
        words->inputs[words->inputs_count++] = word;
        return true;
    case INPUT_NOTHING:
        break;
    }
    if (looks_like_file(word))
        return input_missing(word, error);
    if (own && words->rest_count == 0)
        words->rest[words->rest_count++] = word;
    else
        words->focus[words->focus_count++] = word;
    return true;
}

/* No profile is among the words. A folder or a program was not meant as a pattern then. */
static bool lone_words_fit(const struct loaded *loaded, const struct arguments *arguments,
                           struct error *error)
{
    for (size_t i = 0; i < arguments->operands_count; i++) {
        const char *word = arguments->operands[i];
        enum input_kind kind = input_kind_of(word);
        if (kind == INPUT_PROGRAM && word == loaded->program) {
            error_set(error, ERROR_USAGE, "%s is a program, not a profile", word);
            return error_hint(error, "memoir run -- %s%s", strchr(word, '/') ? "" : "./", word);
        }
        if (kind == INPUT_NOTHING && access(word, F_OK) == 0)
            return input_missing(word, error);
    }
    return true;
}

static bool words_sort(struct loaded *loaded, const struct arguments *arguments,
                       struct error *error)
{
    struct load_words *words = loaded->keep;
    size_t most = arguments->operands_count + arguments->flags_count + 2;
    bool own = strcmp(arguments->command->operands, "PROFILE RE") == 0;
    words->inputs = calloc(most, sizeof *words->inputs);
    words->focus = calloc(most, sizeof *words->focus);
    words->ignore = calloc(most, sizeof *words->ignore);
    words->rest = calloc(most, sizeof *words->rest);
    if (!words->inputs || !words->focus || !words->ignore || !words->rest)
        return error_set(error, ERROR_INPUT, "out of memory");
    loaded->program = arguments_value(arguments, "--program");
    for (size_t i = 0; i < arguments->operands_count; i++)
        if (!word_sort(loaded, arguments->operands[i], own, error))
            return false;
    for (size_t i = 0; i < arguments->flags_count; i++) {
        const struct arguments_flag *flag = &arguments->flags[i];
        if (strcmp(flag->flag->name, "--focus") == 0)
            words->focus[words->focus_count++] = flag->value;
        else if (strcmp(flag->flag->name, "--ignore") == 0)
            words->ignore[words->ignore_count++] = flag->value;
    }
    loaded->rest = words->rest;
    loaded->view.focus = words->focus;
    loaded->view.ignore = words->ignore;
    if (words->inputs_count > 0 || given)
        return true;
    if (!lone_words_fit(loaded, arguments, error))
        return false;
    words->newest = input_newest();
    if (words->newest) {
        words->inputs[words->inputs_count++] = words->newest;
        return true;
    }
    error_set(error, ERROR_USAGE, "%s needs a profile, and this folder has no *.memoir",
              arguments->command->verb);
    if (words->focus && words->focus[0])
        error_set(error, ERROR_USAGE,
                  "%s needs a profile: there is no file '%s', and this folder has no *.memoir",
                  arguments->command->verb, words->focus[0]);
    return error_hint(error,
                      "give a file of any format, the id of a process (memoir ps), or a URL; "
                      "memoir run -- ./program   makes one");
}

/* "a.heap", or "a.heap and 3 more". */
static char *name_of(const char *const *inputs, size_t count)
{
    char text[512];
    bool process = input_kind_of(inputs[0]) == INPUT_PROCESS;
    int length = snprintf(text, sizeof text, "%s%s", process ? "process " : "", inputs[0]);
    if (count > 1 && length > 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length, " and %zu more", count - 1);
    return strdup(text);
}

/* Whether two names differ in numbers only: prof.0001.heap and prof.0002.heap. */
static bool names_alike(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* Dumps of one run each have all that is live: as a sum it counts again and again. Those that do
 * not say whose they are may have names that do. */
static void same_run_warn(const struct profile *profile, const struct profile *more, const char *a,
                          const char *b)
{
    bool dumps =
        profile->kind == PROFILE_HEAP && profile->format == more->format &&
        (profile->format == reader_jemalloc.name || profile->format == reader_heap_text.name) &&
        names_alike(a, b);
    if (!dumps)
        return;
    terminal_warn("%s and %s look like dumps of one run: what is live in both counts twice; "
                  "memoir diff %s %s   compares them",
                  a, b, a, b);
}

/* Inputs, one after the other; of the next one it may be necessary to know whose it is. */
struct reading {
    const char *const *inputs;
    size_t count, at;
    const struct input_options *options;
    int64_t *pid;
    struct profile ahead; /* inputs[at], if that was read already */
    bool is_ahead;
};

/* Into an empty profile. */
static bool next_read(struct reading *reading, struct profile *profile, struct error *error)
{
    const char *input = reading->inputs[reading->at++];
    if (!reading->is_ahead)
        return input_read(profile, input, reading->options, reading->pid, error);
    profile_free(profile);
    *profile = reading->ahead;
    reading->is_ahead = false;
    return true;
}

static void put_back(struct reading *reading, const struct profile *profile)
{
    reading->ahead = *profile;
    reading->is_ahead = true;
    reading->at--;
}

/* A profile and those behind it that are of the same process: moments of one run. */
static bool run_read(struct profile *profile, struct reading *reading, struct error *error)
{
    if (!next_read(reading, profile, error))
        return false;
    size_t left = reading->count - reading->at, used = 1;
    if (left == 0 || reading->options->add_up || profile->pid <= 0)
        return true;
    struct profile *moments = calloc(left + 1, sizeof *moments);
    if (!moments)
        return error_set(error, ERROR_INPUT, "out of memory");
    bool right = true, one = true;
    moments[0] = *profile;
    profile_start(profile);
    while (reading->at < reading->count && right && one) {
        profile_start(&moments[used]);
        right = next_read(reading, &moments[used], error);
        one = !right || series_of_one(&moments[0], &moments[used]);
        if (one)
            used++;
        else
            put_back(reading, &moments[used]);
    }
    if (right && !series_make(profile, moments, used))
        right = error_set(error, ERROR_INPUT, "out of memory");
    if (right && used > 1)
        profile_warn(profile,
                     "%zu dumps of one process, %ld: the last is what counts, the others are its "
                     "history",
                     used, (long)profile->pid);
    for (size_t i = 0; i < used; i++)
        profile_free(&moments[i]);
    free(moments);
    return right;
}

/* Adds up, but for moments of one run. */
static bool runs_add(struct profile *profile, struct reading *reading, struct error *error)
{
    const char *const *inputs = reading->inputs;
    if (!run_read(profile, reading, error))
        return false;
    while (reading->at < reading->count) {
        size_t at = reading->at;
        struct profile more;
        profile_start(&more);
        bool right = run_read(&more, reading, error);
        if (right && at == 1 && !reading->options->add_up)
            same_run_warn(profile, &more, inputs[0], inputs[1]);
        if (right && !profile_merge(profile, &more, 1))
            right = error_set(error, ERROR_INPUT, "%s can't be added to %s: %s", inputs[at],
                              inputs[0], profile->failed ? "out of memory" : "too large numbers");
        profile_free(&more);
        if (!right)
            return false;
    }
    profile_settle(profile);
    return true;
}

static bool inputs_read(struct profile *profile, const char *const *inputs, size_t count,
                        const struct input_options *options, int64_t *pid, struct error *error)
{
    struct reading reading = {.inputs = inputs, .count = count, .options = options, .pid = pid};
    bool right = runs_add(profile, &reading, error);
    if (reading.is_ahead)
        profile_free(&reading.ahead);
    return right;
}

/* What was given takes the place of a file. */
static void given_take(struct profile *profile, char **name)
{
    profile_free(profile);
    *profile = given->profile;
    *name = given->name;
    profile_start(&given->profile);
    given->name = NULL;
}

/* Without a profile among the words: the given one; of two that are compared it is the first. */
static bool given_read(struct loaded *loaded, const struct arguments *arguments,
                       const struct input_options *options, struct error *error)
{
    const struct load_words *words = loaded->keep;
    const char *base = arguments_value(arguments, "--base");
    int64_t base_pid = 0;
    if (options->read.at || arguments_value(arguments, "--since")) {
        error_set(error, ERROR_USAGE, "%s needs the file: the profile is loaded already",
                  options->read.at ? "--at" : "--since");
        return error_hint(error, "memoir %s FILE %s ...   outside of this shell",
                          arguments->command->verb, options->read.at ? "--at" : "--since");
    }
    if (words->inputs_count == 1) {
        loaded->name = name_of(words->inputs, 1);
        loaded->has_base = true;
        given_take(&loaded->base, &loaded->base_name);
        return inputs_read(&loaded->profile, words->inputs, 1, options, &loaded->symbol_options.pid,
                           error);
    }
    given_take(&loaded->profile, &loaded->name);
    loaded->has_base = base || given->has_base;
    if (base) {
        loaded->base_name = strdup(base);
        return inputs_read(&loaded->base, &base, 1, options, &base_pid, error);
    }
    if (given->has_base) {
        profile_free(&loaded->base);
        loaded->base = given->base;
        loaded->base_name = given->base_name;
        profile_start(&given->base);
        given->base_name = NULL;
    }
    return true;
}

/* --since: the base is the same capture at an earlier moment. */
static bool since_read(struct loaded *loaded, const struct arguments *arguments, bool several,
                       const struct input_options *options, struct error *error)
{
    const char *since = arguments_value(arguments, "--since");
    const char *input = loaded->keep->inputs[0];
    struct input_options then = *options;
    int64_t pid = 0;
    then.read.at = since;
    if (several || input_kind_of(input) != INPUT_FILE || strcmp(input, "-") == 0) {
        error_set(error, ERROR_USAGE, "--since is about one capture, a file");
        return error_hint(error, "memoir diff BEFORE AFTER   compares two");
    }
    if (loaded->profile.moments.count < 2) {
        error_set(error, ERROR_USAGE, "%s has one moment only: --since needs an earlier one",
                  input);
        return error_hint(error, "memoir run --every 1s -- ./program   records more");
    }
    loaded->has_base = true;
    loaded->base_name = strdup(loaded->name);
    if (!input_read(&loaded->base, input, &then, &pid, error))
        return false;
    if (loaded->base.at_peak || loaded->base.duration_ns < loaded->profile.duration_ns)
        return true;
    error_set(error, ERROR_USAGE, "--since %s is not before the moment that is looked at", since);
    return error_hint(error, "memoir time %s   shows when snapshots were made", input);
}

static bool profiles_read(struct loaded *loaded, const struct arguments *arguments,
                          struct error *error)
{
    const struct load_words *words = loaded->keep;
    const char *const *inputs = words->inputs, *base = arguments_value(arguments, "--base");
    const char *seconds = arguments_value(arguments, "--seconds");
    bool window = strcmp(arguments->command->verb, "time") == 0; /* it shows many moments */
    const struct input_options options = {
        .read.at = window ? NULL
                          : arguments_value(
                                arguments, arguments_value(arguments, "--at") ? "--at" : "--until"),
        .read.thread = arguments_value(arguments, "--thread"),
        .seconds = seconds ? (unsigned)strtoul(seconds, NULL, 10) : 0,
        .add_up = strcmp(arguments->command->verb, "merge") == 0,
    };
    size_t count = words->inputs_count;
    int64_t base_pid = 0;
    bool two = strcmp(arguments->command->operands, "PROFILE PROFILE") == 0;
    if (given && (count == 0 || (count == 1 && two && !base)))
        return given_read(loaded, arguments, &options, error);
    if (!base && count > 1 && two) {
        base = *inputs++;
        count--;
    }
    loaded->name = name_of(inputs, count);
    if (!inputs_read(&loaded->profile, inputs, count, &options, &loaded->symbol_options.pid, error))
        return false;
    if (arguments_value(arguments, "--since") && !window)
        return since_read(loaded, arguments, base || count > 1, &options, error);
    if (!base)
        return true;
    loaded->has_base = true;
    loaded->base_name = strdup(base);
    return inputs_read(&loaded->base, &base, 1, &options, &base_pid, error);
}

static void symbols_progress(void *context, const char *module, uint64_t done, uint64_t all)
{
    const char *slash = strrchr(module, '/');
    (void)context;
    progress_update(slash ? slash + 1 : module, done, all);
}

static void fetch_warn(const struct symbol_report *report)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (report->fetch == SYMBOL_FETCH_NO_LIBRARY)
        terminal_warn("--fetch needs libdebuginfod: apt-get install libdebuginfod1");
    else if (!urls || !*urls)
        terminal_warn("--fetch: DEBUGINFOD_URLS is not set, so there is nobody to ask; for "
                      "example DEBUGINFOD_URLS=https://debuginfod.elfutils.org");
    else if (report->fetch == SYMBOL_FETCH_LATE)
        terminal_warn("--fetch: no answer from %s in %s seconds (DEBUGINFOD_TIMEOUT); names are "
                      "what is here",
                      urls, getenv("DEBUGINFOD_TIMEOUT"));
}

static bool names_find(struct loaded *loaded, const struct arguments *arguments,
                       struct error *error)
{
    struct symbol_options *options = &loaded->symbol_options;
    struct symbol_report base_report = {0};
    options->program = loaded->program;
    options->sysroot = arguments_value(arguments, "--sysroot");
    options->debug_path = arguments_value(arguments, "--debug-path");
    options->fetch = arguments_value(arguments, "--fetch") != NULL;
    options->no_cache = arguments_value(arguments, "--no-cache") != NULL;
    options->progress = symbols_progress;
    progress_start("symbols", "");
    bool right = symbol_resolve(&loaded->profile, options, &loaded->symbols);
    if (right && loaded->has_base)
        right = symbol_resolve(&loaded->base, options, &base_report);
    progress_end();
    symbol_report_free(&base_report);
    if (right && options->fetch)
        fetch_warn(&loaded->symbols);
    const char *input = loaded->keep->inputs[0];
    if (right && input && input_kind_of(input) == INPUT_URL)
        http_names(input, &(struct http_options){0}, &loaded->profile);
    return right || error_set(error, ERROR_INPUT, "out of memory");
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
