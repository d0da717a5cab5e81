/* SPDX-License-Identifier: MIT */
/* See tool/symbol/brief.h. Brackets are told from operators by the bytes before them, as in
 * tool/terminal/name.c; what follows is not there yet. */
#include "tool/symbol/brief.h"

#include <string.h>

#include "base/compiler.h"

/* What may be read for all names of a run: hostile files have many that stand for gigabytes. */
enum { NAME_BYTES_MAX = 16 << 20, ALL_BYTES_MAX = 512 << 20 };
static size_t all_bytes;

static bool character(struct brief *brief, char c, char *text, size_t size, size_t *used);
static bool is_plain(const struct brief *brief, char c);
static bool ends_with(const struct brief *brief, const char *word);
static bool append(const char *part, size_t length, char *text, size_t size, size_t *used);
static unsigned depth_behind(const struct brief *brief, char c);

bool brief_add(struct brief *brief, const char *part, size_t length, char *text, size_t size,
               size_t *used)
{
    brief->length += length;
    if (brief->length > NAME_BYTES_MAX ||
        __atomic_add_fetch(&all_bytes, length, __ATOMIC_RELAXED) > ALL_BYTES_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!character(brief, part[i], text, size, used))
            return false;
        memmove(brief->before, brief->before + 1, BRIEF_BEFORE - 1);
        brief->before[BRIEF_BEFORE - 1] = part[i];
    }
    return true;
}

static bool character(struct brief *brief, char c, char *text, size_t size, size_t *used)
{
    bool bracket = strchr("<>()", c) && c != '\0' && !is_plain(brief, c);
    if (bracket && (c == '<' || c == '(')) {
        if (brief->depth < BRIEF_DEPTH_MAX)
            brief->open[brief->depth] = c;
        if (brief->depth++ == 0) {
            brief->kept_length = 0;
            return append(&c, 1, text, size, used);
        }
    } else if (bracket) {
        unsigned depth = depth_behind(brief, c);
        bool outermost = depth == 0 && brief->depth > 0;
        brief->depth = depth;
        if (outermost) {
            bool is_short = brief->kept_length <= BRIEF_KEPT;
            return append(is_short ? brief->kept : "...", is_short ? brief->kept_length : 3, text,
                          size, used) &&
                   append(&c, 1, text, size, used);
        }
    }
    if (brief->depth == 0)
        return append(&c, 1, text, size, used);
    if (brief->kept_length < BRIEF_KEPT)
        brief->kept[brief->kept_length] = c;
    brief->kept_length++;
    return true;
}

/* Whether a bracket is part of an operator's name, or one that compares. */
static bool is_plain(const struct brief *brief, char c)
{
    static const struct {
        const char *before, *brackets;
    } operators[] = {{"operator", "<>("},
                     {"operator<", "<"},
                     {"operator>", ">"},
                     {"operator<=", ">"},
                     {"operator(", ")"}};
    char last = brief->before[BRIEF_BEFORE - 1];
    if ((c == '>' && last == '-') || (c == '<' && last == ')' && !ends_with(brief, "operator()")))
        return true;
    for (size_t i = 0; i < COUNT_OF(operators); i++)
        if (strchr(operators[i].brackets, c) && ends_with(brief, operators[i].before))
            return true;
    return false;
}

static bool ends_with(const struct brief *brief, const char *word)
{
    size_t length = strlen(word);
    return memcmp(brief->before + BRIEF_BEFORE - length, word, length) == 0;
}

static bool append(const char *part, size_t length, char *text, size_t size, size_t *used)
{
    if (length > size - *used)
        return false;
    memcpy(text + *used, part, length);
    *used += length;
    return true;
}

/* The number of open brackets that are left behind a closing one; the same number: it ends none. */
static unsigned depth_behind(const struct brief *brief, char c)
{
    char wanted = c == ')' ? '(' : '<';
    unsigned at = brief->depth;
    if (at > BRIEF_DEPTH_MAX)
        return at - 1;
    while (at > 0 && brief->open[at - 1] != wanted) {
        if (wanted == '<')
            return brief->depth;
        at--;
    }
    return at > 0 ? at - 1 : brief->depth;
}
