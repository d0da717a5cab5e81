/* SPDX-License-Identifier: MIT */
/* See tool/render_page.h. */
#include "tool/render_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/doctor.h"
#include "tool/memory/memory.h"
#include "tool/report/page/page.h"
#include "tool/terminal/terminal.h"

/* What the doctor has found, and the names of a list that grows. */
struct notes {
    struct html_note *items;
    size_t count, room;
    bool failed;
};

static char *filters_text(const struct request *request);
static void note_add(void *context, const char *text, const char *fix);
static void notes_free(struct notes *notes);

bool page_write(const struct request *request, FILE *file, struct error *error)
{
    const struct arguments *arguments = request->arguments;
    struct notes notes = {0};
    struct view_error reason = {.text = ""};
    char *filters = filters_text(request);
    doctor_profile(request, note_add, &notes);
    struct html_options options = {
        .title = arguments_value(arguments, FLAG_TITLE),
        .name = request->name,
        .base_name = request->base_name,
        .filters = filters,
        .version = MEMOIR_VERSION,
        .notes = notes.items,
        .notes_count = notes.count,
        .by_given = arguments_value(arguments, FLAG_BY) != NULL,
        .frames_given = arguments_value(arguments, FLAG_FRAMES) != NULL,
        .reversed = arguments_value(arguments, FLAG_REVERSED) != NULL,
    };
    progress_start("drawing", request->name);
    bool ok = filters && !notes.failed &&
              html_write(request->profile, &request->options, &options, file, &reason);
    progress_end();
    free(filters);
    notes_free(&notes);
    return ok || error_set(error, reason.text[0] ? ERROR_USAGE : ERROR_INPUT, "%s",
                           reason.text[0] ? reason.text : error_out_of_memory);
}

/* The flags that leave something out, as they were written; words count as --focus and --ignore. */
static char *filters_text(const struct request *request)
{
    const struct arguments *arguments = request->arguments;
    static const enum flag_id flags[] = {FLAG_SHOW,      FLAG_HIDE,       FLAG_FROM, FLAG_PRUNE,
                                         FLAG_THREAD,    FLAG_MODULE,     FLAG_SIZE, FLAG_AGE,
                                         FLAG_TAG_FOCUS, FLAG_TAG_IGNORE, FLAG_AT,   FLAG_SINCE,
                                         FLAG_UNTIL,     FLAG_NO_INLINES};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return NULL;
    for (const char *const *word = request->options.focus; word && *word; word++)
        fprintf(file, "%s--focus %s", ftell(file) > 0 ? ", " : "", *word);
    for (const char *const *word = request->options.ignore; word && *word; word++)
        fprintf(file, "%s--ignore %s", ftell(file) > 0 ? ", " : "", *word);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const char *value = arguments_value(arguments, flags[i]);
        if (value)
            fprintf(file, "%s%s%s%s", ftell(file) > 0 ? ", " : "", commands_flag_name(flags[i]),
                    value[0] ? " " : "", value);
    }
    return fclose(file) == 0 ? text : NULL;
}

static void note_add(void *context, const char *text, const char *fix)
{
    struct notes *notes = context;
    if (!list_reserve(&notes->items, &notes->room, notes->count + 1, sizeof *notes->items)) {
        notes->failed = true;
        return;
    }
    struct html_note *note = &notes->items[notes->count++];
    *note = (struct html_note){strdup(text), strdup(fix)};
    notes->failed = notes->failed || !note->text || !note->fix;
}

static void notes_free(struct notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        free(notes->items[i].text);
        free(notes->items[i].fix);
    }
    free(notes->items);
}
