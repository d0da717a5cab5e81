/* SPDX-License-Identifier: MIT */
/*
 * Which stacks are no leaks because the user says so: lines of LeakSanitizer's form, blocks of
 * valgrind's, and what the C and C++ libraries keep to the end on purpose (keepers.c).
 *
 *      leak:parse_table        {
 *                                 a name
 *                                 Memcheck:Leak
 *                                 fun:malloc
 *                                 ...
 *                                 obj:*libfoo*
 *                              }
 *
 * A block says what the stack begins with, leaf first; ... is any number of frames. valgrind's
 * stacks begin with the allocating function, which ours leave out: such a line may be missed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/report/leaks.h"
#include "tool/report/pattern.h"
#include "tool/report/question.h"

/* Frames of a block: its lines as they are, "fun:main". */
struct block {
    char **lines;
    size_t count, room;
    bool leak; /* of another kind of error otherwise: passed over */
};

struct suppressions {
    char **patterns;
    size_t count, room;
    struct block *blocks;
    size_t blocks_count, blocks_room;
};

/* Where a file is read: outside of a block, or in one. */
enum place { OUTSIDE, AT_NAME, AT_KIND, AT_FRAMES };

struct suppressions *suppressions_new(void)
{
    return calloc(1, sizeof(struct suppressions));
}

static void lines_free(char **lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

void suppressions_free(struct suppressions *suppressions)
{
    if (!suppressions)
        return;
    lines_free(suppressions->patterns, suppressions->count);
    for (size_t i = 0; i < suppressions->blocks_count; i++)
        lines_free(suppressions->blocks[i].lines, suppressions->blocks[i].count);
    free(suppressions->blocks);
    free(suppressions);
}

static bool add(char ***lines, size_t *count, size_t *room, const char *line, size_t length)
{
    if (!list_reserve(lines, room, *count + 1, sizeof **lines))
        return false;
    char *copy = strndup(line, length);
    if (copy)
        (*lines)[(*count)++] = copy;
    return copy != NULL;
}

static bool block_start(struct suppressions *suppressions)
{
    if (!list_reserve(&suppressions->blocks, &suppressions->blocks_room,
                      suppressions->blocks_count + 1, sizeof *suppressions->blocks))
        return false;
    memset(&suppressions->blocks[suppressions->blocks_count++], 0, sizeof(struct block));
    return true;
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

static bool starts(const char *line, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* A line inside of a block. False: it makes no sense there. */
static bool block_line(struct block *block, enum place *place, const char *line, size_t length,
                       bool *memory)
{
    if (*place == AT_NAME) {
        *place = AT_KIND;
        return true;
    }
    if (*place == AT_KIND) { /* "Memcheck:Leak", "Memcheck,Other:Leak" */
        const char *colon = memchr(line, ':', length);
        size_t kind = colon ? (size_t)(line + length - colon) - 1 : 0;
        block->leak = kind == 4 && memcmp(colon + 1, "Leak", 4) == 0 &&
                      memmem(line, (size_t)(colon - line), "Memcheck", 8) != NULL;
        *place = AT_FRAMES;
        return colon != NULL;
    }
    if (starts(line, length, "match-leak-kinds:"))
        return true; /* what was not freed is all that is known here */
    bool known = (length == 3 && memcmp(line, "...", 3) == 0) || starts(line, length, "fun:") ||
                 starts(line, length, "obj:") || starts(line, length, "src:");
    if (known || !block->leak)
        *memory = add(&block->lines, &block->count, &block->room, line, length);
    return known || !block->leak;
}

static bool line_add(struct suppressions *suppressions, enum place *place, const char *line,
                     size_t length, bool *memory)
{
    if (*place == OUTSIDE && length == 1 && *line == '{') {
        *place = AT_NAME;
        *memory = block_start(suppressions);
        return true;
    }
    if (*place == AT_FRAMES && length == 1 && *line == '}') {
        *place = OUTSIDE;
        return true;
    }
    if (*place != OUTSIDE)
        return block_line(&suppressions->blocks[suppressions->blocks_count - 1], place, line,
                          length, memory);
    if (length <= 5 || !starts(line, length, "leak:"))
        return false;
    *memory = add(&suppressions->patterns, &suppressions->count, &suppressions->room, line + 5,
                  length - 5);
    return true;
}

bool suppressions_add(struct suppressions *suppressions, const char *name, const char *text,
                      struct view_error *error)
{
    enum place place = OUTSIDE;
    bool memory = true;
    unsigned number = 1;
    for (; *text && memory; number++) {
        size_t whole = strcspn(text, "\n"), length = whole;
        const char *line = trim(text, &length);
        text += whole + (text[whole] == '\n');
        if (length == 0 || line[0] == '#')
            continue;
        if (!line_add(suppressions, &place, line, length, &memory)) {
            snprintf(error->text, sizeof error->text, "%s:%u: '%.*s' is not a suppression; %s",
                     name, number, length > 60 ? 60 : (int)length, line,
                     place == OUTSIDE
                         ? "a line is leak:PATTERN, a # comment, or a { that begins "
                           "one of valgrind's"
                         : "a block in { } has a name, Memcheck:Leak, and lines fun:NAME, "
                           "obj:PATH, src:FILE or ...");
            return false;
        }
    }
    if (!memory)
        view_out_of_memory(error);
    else if (place != OUTSIDE)
        snprintf(error->text, sizeof error->text, "%s:%u: the last { has no }", name, number);
    return memory && place == OUTSIDE;
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

/* The whole of a text, in which * is any text and ? any letter. */
static bool glob(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*text && (*pattern == *text || *pattern == '?')) {
            pattern++;
            text++;
        } else if (*pattern == '\0' && *text == '\0') {
            return true;
        } else if (star && *again) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
}

/* src:FILE or src:FILE:LINE, of which FILE may be the end of a path. */
static bool source_fits(const char *pattern, const struct suppressions_frame *frame)
{
    char file[512];
    const char *colon = strrchr(pattern, ':'), *slash = strrchr(frame->file, '/');
    bool line = colon && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    snprintf(file, sizeof file, "%.*s", line ? (int)(colon - pattern) : 511, pattern);
    if (line && strtoul(colon + 1, NULL, 10) != frame->line)
        return false;
    return glob(file, frame->file) || (slash && glob(file, slash + 1));
}

static bool frame_fits(const char *line, const struct suppressions_frame *frame)
{
    const char *pattern = line + 4;
    if (memcmp(line, "obj:", 4) == 0)
        return glob(pattern, frame->module);
    if (memcmp(line, "src:", 4) == 0)
        return source_fits(pattern, frame);
    return glob(pattern, frame->function) || glob(pattern, frame->system_name);
}

static bool block_fits(char *const *lines, size_t count, const struct suppressions_frame *frames,
                       size_t depth)
{
    for (; count > 0; lines++, count--, frames++, depth--) {
        if (strcmp(*lines, "...") == 0) {
            for (size_t skip = 0; skip <= depth; skip++)
                if (block_fits(lines + 1, count - 1, frames + skip, depth - skip))
                    return true;
            return false;
        }
        if (depth == 0 || !frame_fits(*lines, frames))
            return false;
    }
    return true;
}

/* Whether a line is of a function that allocates. */
static bool is_allocator(const char *line)
{
    static const char *const names[] = {"malloc",   "calloc",        "realloc",
                                        "memalign", "aligned_alloc", "posix_memalign",
                                        "valloc",   "_Znwm",         "_Znam"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (memcmp(line, "fun:", 4) == 0 && glob(line + 4, names[i]))
            return true;
    return false;
}

/* "program+0x1149", as reports call code without a name. */
static bool offset_fits(const char *pattern, const char *module, uint64_t offset)
{
    char text[512];
    if (offset == 0 || *module == '\0')
        return false;
    snprintf(text, sizeof text, "%s+0x%" PRIx64, name_base(module), offset);
    return suppressions_match(pattern, text);
}

static bool one_frame_fits(const struct suppressions *suppressions,
                           const struct suppressions_frame *frame)
{
    for (size_t i = 0; suppressions && i < suppressions->count; i++) {
        const char *pattern = suppressions->patterns[i];
        if (suppressions_match(pattern, frame->function) ||
            (*frame->file && suppressions_match(pattern, frame->file)) ||
            (*frame->module && suppressions_match(pattern, frame->module)) ||
            offset_fits(pattern, frame->module, frame->start) ||
            offset_fits(pattern, frame->module, frame->offset))
            return true;
    }
    return false;
}

bool suppressions_fit(const struct suppressions *suppressions,
                      const struct suppressions_frame *frames, size_t count)
{
    if (keepers_fit(frames, count))
        return true;
    for (size_t i = 0; i < count; i++)
        if (one_frame_fits(suppressions, &frames[i]))
            return true;
    for (size_t i = 0; suppressions && i < suppressions->blocks_count; i++) {
        const struct block *block = &suppressions->blocks[i];
        if (!block->leak || block->count == 0)
            continue;
        if (block_fits(block->lines, block->count, frames, count) ||
            (is_allocator(block->lines[0]) &&
             block_fits(block->lines + 1, block->count - 1, frames, count)))
            return true;
    }
    return false;
}
