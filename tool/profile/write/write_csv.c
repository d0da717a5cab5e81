/* SPDX-License-Identifier: MIT */
/*
 * A table for spreadsheets and databases, as in RFC 4180: a row a stack, with the function that it
 * ends in, all values, and the whole stack, root first, joined by ';'.
 */
#include "tool/profile/write/write.h"

#include <inttypes.h>
#include <string.h>

#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"

/* A part of a quoted field, all on one line. */
static void text_put(const char *text, FILE *file)
{
    if (!strchr(text, '"')) {
        line_put(text, file);
        return;
    }
    while (*text != '\0') {
        char instead;
        if (*text == '"')
            putc_unlocked('"', file);
        for (unsigned length = line_character(text, &instead); length > 0; length--, text++)
            putc_unlocked(instead != '\0' ? instead : *text, file);
    }
}

static void field_put(const char *text, FILE *file)
{
    bool plain = strpbrk(text, ",\"\r\n") == NULL;
    if (!plain)
        putc_unlocked('"', file);
    text_put(text, file);
    if (!plain)
        putc_unlocked('"', file);
}

static void stack_put(const struct flat *flat, size_t number, FILE *file)
{
    struct flat_stack stack = flat_stack(flat, number);
    const uint32_t *path = stack.frames;
    const struct flat_frame *leaf = stack.count > 0 ? &flat->frames[path[stack.count - 1]] : NULL;
    field_put(leaf ? leaf->name : "", file);
    putc_unlocked(',', file);
    field_put(leaf ? leaf->file : "", file);
    putc_unlocked(',', file);
    if (leaf && leaf->line != 0)
        fprintf(file, "%" PRIu32, leaf->line);
    putc_unlocked(',', file);
    field_put(leaf ? leaf->module : "", file);
    for (unsigned i = 0; i < flat->types; i++)
        fprintf(file, ",%" PRId64, flat_value(flat, number, i));
    fputs(",\"", file);
    for (uint32_t i = 0; i < stack.count; i++) {
        if (i > 0)
            putc_unlocked(';', file);
        text_put(flat->frames[path[i]].name, file);
    }
    fputs("\"\r\n", file);
}

static bool csv(const struct profile *profile, const struct write_options *options, FILE *file)
{
    (void)options;
    struct flat flat;
    bool done = flat_make(&flat, profile, &(struct flat_options){.lines = true});
    if (done) {
        fputs("function,file,line,module", file);
        for (unsigned i = 0; i < profile->types; i++) {
            putc_unlocked(',', file);
            field_put(profile_text(profile, profile->type[i].name), file);
        }
        fputs(",stack\r\n", file);
    }
    for (size_t i = 0; i < flat.stacks_count && done; i++)
        stack_put(&flat, i, file);
    flat_free(&flat);
    return done;
}

const struct writer writer_csv = {
    .word = "csv",
    .ending = ".csv",
    .brief = "a table, one row per stack",
    .values = WRITES_ALL,
    .write = csv,
    .mute = true,
};
