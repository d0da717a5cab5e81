/* SPDX-License-Identifier: MIT */
/*
 * See tool/record/summary.h. Names are looked for once, when the summary is printed or lost blocks
 * are judged, whichever comes first.
 */
#include "tool/record/summary.h"

#include <stdlib.h>

#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/report/report.h"
#include "tool/report/text/text.h"
#include "tool/symbol/symbol.h"
#include "tool/terminal/terminal.h"

struct summary {
    bool named; /* functions have their names */
    struct profile profile;
};

struct summary *summary_read(const char *path)
{
    const struct read_options options = {0};
    struct read_error error;
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return NULL;
    profile_start(&summary->profile);
    if (profile_read_file(&summary->profile, path, &options, &error) && !summary->profile.failed)
        return summary;
    summary_free(summary);
    return NULL;
}

void summary_free(struct summary *summary)
{
    if (summary)
        profile_free(&summary->profile);
    free(summary);
}

int64_t summary_pid(const struct summary *summary)
{
    return summary->profile.pid;
}

uint64_t summary_peak(const struct summary *summary)
{
    const struct profile *profile = &summary->profile;
    int type = profile_type_named(profile, TYPE_PEAK_SPACE);
    uint64_t sum = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += (uint64_t)profile->samples.values[type][i];
    return sum;
}

bool summary_counted(const struct summary *summary)
{
    return summary->profile.counted;
}

int64_t summary_rate(const struct summary *summary)
{
    const struct profile *profile = &summary->profile;
    bool samples = profile->kind == PROFILE_HEAP && profile->period > 0;
    return samples ? profile->period : profile_has_recorded(profile, TYPE_ALLOC_SPACE) ? 0 : -1;
}

const char *summary_command(const struct summary *summary)
{
    return profile_text(&summary->profile, summary->profile.command);
}

int64_t summary_duration_ns(const struct summary *summary)
{
    return summary->profile.torn ? -1 : summary->profile.duration_ns;
}

int64_t summary_time_ns(const struct summary *summary)
{
    return summary->profile.time_ns;
}

bool summary_ended(const struct summary *summary)
{
    return summary->profile.ended;
}

static void symbols_progress(void *context, const char *module, uint64_t done, uint64_t all)
{
    (void)context;
    progress_update(module, done, all);
}

/* The blocks that a scan at the end found lost, if there was one. */
static void lost_print(struct profile *profile, const struct suppressions *suppressions,
                       const struct style *style)
{
    struct view_options wanted = {0};
    const struct leaks_options options = {.rule = LEAKS_AUTO, .suppressions = suppressions};
    struct view_error error = {.text = ""};
    struct view view;
    if (!metric_has(profile, METRIC_LOST, &wanted.type) ||
        !view_make(&view, profile, &wanted, &error))
        return;
    fputs("\n", style->out);
    report_leaks(&view, &options, style);
    view_free(&view);
}

/* Once: names may come from far. */
static bool names_find(struct summary *summary)
{
    const struct symbol_options options = {.progress = symbols_progress};
    struct symbol_report report = {0};
    if (summary->named)
        return true;
    progress_start("symbols", "");
    summary->named = symbol_resolve(&summary->profile, &options, &report);
    progress_end();
    symbol_report_free(&report);
    return summary->named;
}

bool summary_scanned(const struct summary *summary)
{
    struct view_options wanted = {0};
    return metric_has(&summary->profile, METRIC_LOST, &wanted.type);
}

bool summary_lost(struct summary *summary, const struct suppressions *suppressions)
{
    struct view_options wanted = {0};
    const struct leaks_options options = {.rule = LEAKS_AUTO, .suppressions = suppressions};
    struct view_error error = {.text = ""};
    struct view view;
    struct leaks leaks;
    if (!metric_has(&summary->profile, METRIC_LOST, &wanted.type) ||
        (suppressions && !names_find(summary)) ||
        !view_make(&view, &summary->profile, &wanted, &error))
        return false;
    bool found = false;
    if (leaks_make(&leaks, &view, &options)) {
        found = leaks.found > 0;
        leaks_free(&leaks);
    }
    view_free(&view);
    return found;
}

void summary_print(struct summary *summary, unsigned rows, uint64_t time_ms,
                   uint64_t rss_peak_bytes, const struct suppressions *suppressions)
{
    struct profile *profile = &summary->profile;
    const struct style style = {
        .out = wrap_errors(),
        .width = terminal_error_width() > 0 ? terminal_error_width() : terminal_width(),
        .fits = terminal_error_width() > 0,
        .color = terminal_error_colors(),
        .utf8 = terminal_utf8(),
        .rows = rows,
    };
    const struct view_options wanted = {.type = profile->default_type};
    struct view_error error = {.text = ""};
    struct view view;
    bool ok = names_find(summary);
    if (ok && view_make(&view, profile, &wanted, &error)) {
        report_brief(&view, &style, (int64_t)time_ms * 1000000, rss_peak_bytes);
        view_free(&view);
    }
    if (ok)
        lost_print(profile, suppressions, &style);
    wrap_end(style.out);
}
