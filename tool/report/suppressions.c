/* SPDX-License-Identifier: MIT */
/*
 * Which stacks are no leaks because somebody said so: lines of LeakSanitizer's form, and a few of
 * our own for memory that the C and C++ libraries keep to the end on purpose.
 */
#include "tool/report/leaks.h"
#include "tool/report/question.h"

#include "base/compiler.h"

#include <stdlib.h>
#include <string.h>

static const char *const built_in[] = {
    "IO_file_doallocate$",   "^_GLOBAL__sub_I_eh_alloc.cc$",
    "^__gnu_cxx::__freeres", "^(anonymous namespace)::pool::pool",
    "^_dl_allocate_tls$",    "^allocate_dtv$",
};

struct suppressions {
    char **patterns;
    size_t count, room;
};

struct suppressions *suppressions_new(void)
{
    return calloc(1, sizeof(struct suppressions));
}

void suppressions_free(struct suppressions *suppressions)
{
    if (!suppressions)
        return;
    for (size_t i = 0; i < suppressions->count; i++)
        free(suppressions->patterns[i]);
    free(suppressions->patterns);
    free(suppressions);
}

static bool add(struct suppressions *suppressions, const char *pattern, size_t length)
{
    if (suppressions->count == suppressions->room) {
        size_t room = suppressions->room * 2 + 16;
        char **patterns = realloc(suppressions->patterns, room * sizeof *patterns);
        if (!patterns)
            return false;
        suppressions->patterns = patterns;
        suppressions->room = room;
    }
    char *copy = strndup(pattern, length);
    if (copy)
        suppressions->patterns[suppressions->count++] = copy;
    return copy != NULL;
}

/* Where the line's text begins and how long it is without the spaces around it. */
static const char *trim(const char *line, size_t *length)
{
    while (*length > 0 && strchr(" \t\r", line[*length - 1]))
        --*length;
    while (*length > 0 && strchr(" \t", *line)) {
        line++;
        --*length;
    }
    return line;
}

bool suppressions_add(struct suppressions *suppressions, const char *name, const char *text,
                      struct view_error *error)
{
    for (unsigned number = 1; *text; number++) {
        size_t whole = strcspn(text, "\n"), length = whole;
        const char *line = trim(text, &length);
        text += whole + (text[whole] == '\n');
        if (length == 0 || line[0] == '#')
            continue;
        if (length <= 5 || memcmp(line, "leak:", 5) != 0) {
            snprintf(error->text, sizeof error->text,
                     "%s:%u: '%.*s' is no suppression; a line is leak:PATTERN or a # comment", name,
                     number, length > 60 ? 60 : (int)length, line);
            return false;
        }
        if (!add(suppressions, line + 5, length - 5)) {
            snprintf(error->text, sizeof error->text, "out of memory");
            return false;
        }
    }
    return true;
}

/* Whether `text` begins with the pattern, in which * is any text. Both ends of the pattern may be
 * fixed: the caller took ^ off, $ is left. */
static bool match_here(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;
    for (;;) {
        if (*pattern == '\0' || (pattern[0] == '$' && pattern[1] == '\0' && *text == '\0'))
            return true;
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*text && *pattern == *text && !(pattern[0] == '$' && pattern[1] == '\0')) {
            pattern++;
            text++;
        } else if (star && *again) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
}

bool suppressions_match(const char *pattern, const char *text)
{
    if (*pattern == '^')
        return match_here(pattern + 1, text);
    for (;; text++) {
        if (match_here(pattern, text))
            return true;
        if (*text == '\0')
            return false;
    }
}

bool suppressions_fit(const struct suppressions *suppressions, const char *function,
                      const char *file, const char *module)
{
    for (size_t i = 0; i < COUNT_OF(built_in); i++)
        if (suppressions_match(built_in[i], function))
            return true;
    for (size_t i = 0; suppressions && i < suppressions->count; i++) {
        const char *pattern = suppressions->patterns[i];
        if (suppressions_match(pattern, function) || (*file && suppressions_match(pattern, file)) ||
            (*module && suppressions_match(pattern, module)))
            return true;
    }
    return false;
}
