/* SPDX-License-Identifier: MIT */
/*
 * See tool/terminal/wrap.h. A stream in front of the terminal collects a line and breaks it where a
 * reader would: before a wide gap between columns, else at the last space, else inside a word.
 * Escape sequences take no column. What is no terminal gets its lines whole.
 */
#include "tool/terminal/wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "tool/memory/memory.h"
#include "tool/terminal/progress.h"
#include "tool/terminal/screen.h"
#include "tool/terminal/style.h"

enum { GAP = 3, HANG = 4 };

struct fit {
    FILE *to;
    unsigned width;
    char *line; /* what has no end yet */
    size_t used, room;
};

static const char *part_end(const char *at, const char *end, unsigned width);
static size_t escape_length(const char *at, const char *end);
static FILE *wrap_open(FILE *to, unsigned width);
static ssize_t wrap_write(void *cookie, const char *bytes, size_t size);
static int wrap_close(void *cookie);

void wrap_line(FILE *to, const char *line, size_t length, unsigned width)
{
    while (length > 0 && line[length - 1] == ' ')
        length--;
    const char *end = line + length, *at = line;
    unsigned indent = 0, room = width;
    while (at + indent < end && at[indent] == ' ')
        indent++;
    unsigned hang = indent + HANG < width / 2 ? indent + HANG : width / 2;
    if (indent >= width) { /* nothing but room: what was to stand at the right */
        at += indent - hang;
        indent = hang;
    }
    for (bool first = true; at < end; first = false) {
        const char *skip = first ? at + indent : at;
        const char *stop = part_end(skip, end, first ? room - indent : room);
        if (stop == skip && stop < end)
            stop = skip + 1;
        fwrite(at, 1, (size_t)(stop - at), to);
        for (at = stop; at < end && *at == ' ';)
            at++;
        if (at < end)
            fprintf(to, "\n%*s", (int)hang, "");
        room = width - hang;
    }
    putc('\n', to);
}

/* Where the part of the line ends that fills at most `width` columns: before a wide gap of the
 * second half, else before the last space, else in a word. */
static const char *part_end(const char *at, const char *end, unsigned width)
{
    const char *space = NULL, *gap = NULL, *from = at;
    unsigned column = 0, gap_column = 0;
    while (at < end) {
        size_t length = escape_length(at, end);
        unsigned columns = length > 0 ? 0 : style_character(at, end, &length);
        if (column + columns > width)
            break;
        if (*at == ' ' && at > from && at[-1] != ' ') {
            size_t spaces = 1;
            while (at + spaces < end && at[spaces] == ' ')
                spaces++;
            space = at;
            if (spaces >= GAP) {
                gap = at;
                gap_column = column;
            }
        }
        column += columns;
        at += length;
    }
    if (at == end)
        return at;
    if (gap && gap_column >= width / 2)
        return gap;
    return *at == ' ' || !space ? at : space;
}

/* The bytes of the escape sequence that begins here: colours, links; 0: none does. */
static size_t escape_length(const char *at, const char *end)
{
    const char *from = at;
    if (end - at < 2 || *at != '\033')
        return 0;
    bool link = at[1] == ']';
    for (at += 2; at < end; at++) {
        if (link && *at == '\\' && at[-1] == '\033')
            return (size_t)(at + 1 - from);
        if (!link && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
            return (size_t)(at + 1 - from);
    }
    return 0;
}

FILE *wrap_output(void)
{
    FILE *file = terminal_fits() ? wrap_open(stdout, terminal_width()) : NULL;
    return file ? file : stdout;
}

/* A stream whose lines are written to `to` so that they fit; fclose leaves `to` open. NULL: no
 * memory. */
static FILE *wrap_open(FILE *to, unsigned width)
{
    enum { ROOM = 512 };
    struct fit *fit = malloc(sizeof *fit);
    char *line = malloc(ROOM);
    FILE *file = NULL;
    if (fit && line) {
        *fit = (struct fit){.to = to, .width = width, .line = line, .room = ROOM};
        file = fopencookie(fit, "w",
                           (cookie_io_functions_t){.write = wrap_write, .close = wrap_close});
    }
    if (!file) {
        free(fit);
        free(line);
    }
    return file;
}

static ssize_t wrap_write(void *cookie, const char *bytes, size_t size)
{
    struct fit *fit = cookie;
    progress_end(); /* whose line would be in the way */
    if (terminal_is_stopped())
        return (ssize_t)size;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            wrap_line(fit->to, fit->line, fit->used, fit->width);
            fit->used = 0;
            continue;
        }
        if (!list_reserve(&fit->line, &fit->room, fit->used + 1, 1))
            return 0;
        fit->line[fit->used++] = bytes[i];
    }
    return ferror(fit->to) ? 0 : (ssize_t)size;
}

static int wrap_close(void *cookie)
{
    struct fit *fit = cookie;
    fwrite(fit->line, 1, fit->used, fit->to);
    free(fit->line);
    free(fit);
    return 0;
}

FILE *wrap_errors(void)
{
    unsigned width = terminal_error_width();
    FILE *file = width > 0 ? wrap_open(stderr, width) : NULL;
    return file ? file : stderr;
}

void wrap_end(FILE *file)
{
    if (file != stdout && file != stderr)
        fclose(file);
}
