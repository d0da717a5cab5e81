/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/redact.h. Strings are replaced where they are used, by their role: one text may
 * be a function's name and a unit. Writers write only strings that are used.
 */
#include "tool/profile/redact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void functions_hide(struct profile *profile, const struct redact_options *options,
                           struct redact_counts *counts);
static bool kept(const struct profile *profile, const struct redact_options *options,
                 uint32_t string);
static void hide(struct profile *profile, uint32_t *string, const char *kind, uint64_t *count);
static uint64_t hash(const char *text);
static void paths_hide(struct profile *profile, const struct redact_options *options,
                       struct redact_counts *counts);

bool profile_redact(struct profile *profile, const struct redact_options *options,
                    struct redact_counts *counts)
{
    struct profile_label *labels = profile->labels.items;
    struct profile_thread *threads = profile->threads.items;
    struct profile_moment *moments = profile->moments.items;
    memset(counts, 0, sizeof *counts);
    functions_hide(profile, options, counts);
    paths_hide(profile, options, counts);
    for (size_t i = 0; i < profile->labels.count; i++)
        hide(profile, &labels[i].text, "label", &counts->texts);
    for (size_t i = 0; i < profile->threads.count; i++)
        hide(profile, &threads[i].name, "thread", &counts->texts);
    for (size_t i = 0; i < profile->moments.count; i++)
        hide(profile, &moments[i].name, "mark", &counts->texts);
    hide(profile, &profile->command, "command", &counts->texts);
    hide(profile, &profile->host, "host", &counts->texts);
    counts->texts += profile->comments.count;
    profile->comments.count = 0;
    profile->warnings.count = 0;
    /* Patterns for names that are gone. */
    profile->drop_frames = profile->keep_frames = profile->doc_url = 0;
    return !profile->failed;
}

static void functions_hide(struct profile *profile, const struct redact_options *options,
                           struct redact_counts *counts)
{
    struct profile_function *functions = profile->functions.items;
    for (size_t i = 1; i < profile->functions.count; i++) {
        bool file = kept(profile, options, functions[i].file);
        bool name = file || kept(profile, options, functions[i].name) ||
                    kept(profile, options, functions[i].system_name);
        uint64_t same = 0; /* a function counts once */
        counts->kept += name ? 1 : 0;
        if (!file)
            hide(profile, &functions[i].file, "file", &counts->files);
        if (name)
            continue;
        hide(profile, &functions[i].name, "f", &counts->functions);
        hide(profile, &functions[i].system_name, "f", &same);
    }
}

static bool kept(const struct profile *profile, const struct redact_options *options,
                 uint32_t string)
{
    return string != 0 && options->keep &&
           options->keep(options->context, profile_text(profile, string));
}

/* A hash in the place of a string; the empty one stays. */
static void hide(struct profile *profile, uint32_t *string, const char *kind, uint64_t *count)
{
    char text[40];
    if (*string == 0)
        return;
    snprintf(text, sizeof text, "%s_%010" PRIx64, kind,
             hash(profile_text(profile, *string)) & UINT64_C(0xffffffffff));
    *string = profile_string_of(profile, text);
    ++*count;
}

/* FNV, and a mix at its end, because we show only half of it. */
static uint64_t hash(const char *text)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++)
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    sum = hash_word(sum ^ sum >> 31);
    return sum ^ sum >> 29;
}

static void paths_hide(struct profile *profile, const struct redact_options *options,
                       struct redact_counts *counts)
{
    struct profile_mapping *mappings = profile->mappings.items;
    for (size_t i = 1; i < profile->mappings.count; i++)
        if (!kept(profile, options, mappings[i].path))
            hide(profile, &mappings[i].path, "module", &counts->paths);
    if (!kept(profile, options, profile->program))
        hide(profile, &profile->program, "module", &counts->paths);
}
