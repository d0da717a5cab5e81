/* SPDX-License-Identifier: MIT */
/*
 * What `memoir doctor` checks of a profile: is it whole, how well are sizes known from its samples,
 * are its stacks cut off, have its addresses names. See tool/doctor.h.
 */
#include "tool/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/advice.h"
#include "tool/session.h"
#include "tool/suggest.h"
#include "tool/terminal/terminal.h"

static void check_samples(struct doctor *doctor, const struct request *request);
static double blocks_seen(const struct profile *profile, int type);
static void check_depth(struct doctor *doctor, const struct profile *profile);
static bool is_limit(uint32_t depth);
static void check_names(struct doctor *doctor, const struct request *request);
static void check_modules(struct doctor *doctor, const struct symbol_report *report);

void doctor_profile(const struct request *request, doctor_found *found, void *context)
{
    struct doctor doctor = {.found = found, .context = context};
    doctor_check_profile(&doctor, request);
}

void doctor_check_profile(struct doctor *doctor, const struct request *request)
{
    const struct profile *profile = request->profile;
    doctor_say(doctor, MARK_GOOD, NULL, "%s: %s, %zu stacks", request->name, profile->format,
               profile->samples.count);
    doctor_say(doctor, profile->torn ? MARK_BAD : MARK_GOOD,
               "the program was killed or is still running, or the disk is full: the "
               "part that is there is correct",
               profile->torn ? "it ends early" : "it is complete");
    if (profile->samples.count == 0)
        doctor_say(doctor, MARK_BAD,
                   profile_is_idle(profile) ? PROFILE_IDLE : "run longer, or: memoir run --exact",
                   "it has no samples");
    check_samples(doctor, request);
    check_depth(doctor, profile);
    if (profile->lost > 0 || profile->refused > 0)
        doctor_say(doctor, MARK_BAD, "memoir run --set heap.memory=256M, or a larger rate",
                   "%lu stacks and %lu blocks were not recorded: the recorder was full",
                   profile->refused, profile->lost);
    if (profile->samples.count > 0)
        check_names(doctor, request);
}

/* How well a sampled heap is known: all of it, and the places that matter. */
static void check_samples(struct doctor *doctor, const struct request *request)
{
    /* Error bars of sites with 1 % or more, in the words of the report: well known, known
     * roughly. */
    static const double good = 0.1, fair = 0.25, share_min = 0.01;
    const struct profile *profile = request->profile;
    struct view view = {0};
    struct view_error reason = {.text = ""};
    struct view_options options = request->options;
    char size[32], rate[32], advice[100];
    size_t count = 0, large = 0, known = 0;
    if (profile->period <= 1 || profile->kind != PROFILE_HEAP || profile->samples.count == 0)
        return;
    options.rows_only = true;
    options.base = NULL;
    if (!view_make(&view, profile, &options, &reason))
        return;
    /* The error of all samples together: no single site has a smaller one. */
    double whole = view_error_share((int64_t)view.total.spread.sampled, view.total.spread.raw);
    double seen = blocks_seen(profile, profile_type_partner(profile, request->options.type));
    struct view_row *rows = view_rows(&view, false, &count);
    for (size_t i = 0; rows && i < count; i++) {
        const struct view_value *self = &rows[i].self;
        if ((double)self->value < share_min * (double)view.total.value || self->value == 0)
            break;
        if (strcmp(view.frames[rows[i].frame].name, PROFILE_NOT_SAMPLED) == 0)
            continue;
        large++;
        known += view_error_share(self->value, self->variance) <= fair;
    }
    free(rows);
    /* The error falls with the root of the rate. */
    double better = 1, less = whole > good ? good / whole : 1;
    double wanted = (double)profile->period * less * less;
    while (better * 2 <= wanted)
        better *= 2;
    if (better >= 1024)
        snprintf(advice, sizeof advice, "memoir run --rate %.0fK for %s%.0f %%, --exact for none",
                 better / 1024, terminal_utf8() ? "±" : "+-", 100 * good);
    else
        snprintf(advice, sizeof advice, "memoir run --exact for no error");
    style_value(rate, (double)profile->period, UNIT_BYTES);
    style_value(size, (double)view.total.value, view.unit);
    if (profile->counted)
        doctor_say(doctor, whole <= good ? MARK_GOOD : MARK_NOTE, advice,
                   "one block in %s was recorded, %.0f in all: the total of %s is exact, "
                   "sites are estimates",
                   rate, seen, size);
    else
        doctor_say(doctor, whole <= good ? MARK_GOOD : MARK_NOTE, advice,
                   "one block in %s was recorded, %.0f in all: the total of %s is known "
                   "to within %s%.0f %%",
                   rate, seen, size, terminal_utf8() ? "±" : "+-", 100 * whole);
    doctor_say(doctor, known * 2 >= large ? MARK_GOOD : MARK_NOTE, NULL,
               "%zu of the %zu sites above 1 %% are known to within %s%.0f %%", known, large,
               terminal_utf8() ? "±" : "+-", 100 * fair);
    view_free(&view);
}

/* How many blocks the values of a column were estimated from. */
static double blocks_seen(const struct profile *profile, int type)
{
    double seen = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++) {
        bool site = profile->samples.weights && profile->samples.weights[i] > 1;
        if (site || !profile->counted) /* [not sampled] is no recorded block */
            seen += (double)profile->samples.values[type][i] /
                    profile_weight(profile, (unsigned)type, i);
    }
    return seen;
}

/* The longest stacks, if they have the length of such a limit and begin where no other does. */
static void check_depth(struct doctor *doctor, const struct profile *profile)
{
    const struct profile_samples *samples = &profile->samples;
    uint8_t *roots = calloc(profile->locations.count + 1, 1);
    uint32_t count, max = 0;
    size_t cut = 0;
    for (size_t i = 0; i < samples->count; i++) {
        count = profile_depth_of(profile, samples->stacks[i]);
        max = count > max ? count : max;
    }
    for (int pass = 0; pass < 2 && roots && is_limit(max); pass++)
        for (size_t i = 0; i < samples->count; i++) {
            const uint32_t *frames = profile_frames_of(profile, samples->stacks[i], &count);
            if (count > 0 && count < max)
                roots[frames[count - 1]] = 1;
            else if (pass == 1 && count == max)
                cut += !roots[frames[count - 1]];
        }
    free(roots);
    if (cut > 0)
        doctor_say(doctor, MARK_NOTE,
                   max < 256 ? "memoir run --set heap.depth=256   records longer stacks" : NULL,
                   "%zu of its stacks end after %u frames, which looks cut off: their "
                   "outer callers are unknown, and miss them in their totals",
                   cut, max);
}

/* Depths at which recorders give up. */
static bool is_limit(uint32_t depth)
{
    static const uint32_t limits[] = {30, 31, 32, 62, 63, 64, 127, 128, 254, 255, 256};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (limits[i] == depth)
            return true;
    return false;
}

static void check_names(struct doctor *doctor, const struct request *request)
{
    const struct symbol_report *report = request_symbols(request);
    struct profile_names names = profile_names_of(request->profile);
    double named = 100 * profile_names_share(request->profile);
    const char *word = request_word(request);
    char file[300], fix[400];
    snprintf(fix, sizeof fix, "memoir symbols %s   shows the missing files, and where to get them",
             suggest_quoted(file, sizeof file, word ? word : "FILE"));
    doctor_say(doctor,
               named >= 90   ? MARK_GOOD
               : named >= 50 ? MARK_NOTE
                             : MARK_BAD,
               fix, "%.1f %% of its %lu addresses have a name%s", named, names.addresses,
               names.nearest > 0 ? " better than the nearest symbol" : "");
    for (size_t i = 0; i < report->count; i++) {
        const struct symbol_module *module = &report->modules[i];
        if (module->quality == SYMBOL_MISMATCH)
            doctor_say(doctor, MARK_BAD,
                       "give the right build with --program or --debug-path, or use --fetch",
                       "%s is another build now: not used", module->path);
        if (module->unsure)
            doctor_say(doctor, MARK_NOTE, NULL,
                       "%s: found by its path, because the profile has no build id", module->path);
    }
    check_modules(doctor, report);
}

/* The modules that most addresses without a name are in, and what would help. */
static void check_modules(struct doctor *doctor, const struct symbol_report *report)
{
    enum { MODULES_MAX = 5 };
    char advice[ADVICE_SIZE];
    for (size_t i = 0, said = 0; i < report->count && said < MODULES_MAX; i++) {
        const struct symbol_module *module = &report->modules[i];
        uint64_t known = module->named - module->guessed;
        advice_of(module, advice);
        if (advice[0] == '\0' || module->quality == SYMBOL_MISMATCH ||
            (module->locations - known) * 100 < report->locations)
            continue;
        said++;
        doctor_say(doctor, MARK_NOTE, advice, "%s: %lu of %lu addresses have a name",
                   module->path[0] ? name_base(module->path) : "code outside of any file", known,
                   module->locations);
    }
}
