/* SPDX-License-Identifier: MIT */
/* See tool/profile/parse/cursor.h. */
#include "tool/profile/parse/cursor.h"

#include <string.h>

#include "tool/profile/profile.h"

static bool blank(char c);
static unsigned digit(char c);

size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

bool cursor_line(struct cursor *file, struct cursor *line)
{
    if (file->at >= file->end)
        return false;
    const char *end = memchr(file->at, '\n', cursor_left(file));
    *line = (struct cursor){file->at, end ? end : file->end};
    file->at = end ? end + 1 : file->end;
    place_at(file->at);
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

void cursor_spaces(struct cursor *cursor)
{
    while (cursor->at < cursor->end && blank(*cursor->at))
        cursor->at++;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void cursor_trim(struct cursor *cursor)
{
    cursor_spaces(cursor);
    while (cursor->end > cursor->at && blank(cursor->end[-1]))
        cursor->end--;
}

bool cursor_is(const struct cursor *cursor, const char *text)
{
    return cursor_left(cursor) == strlen(text) && memcmp(cursor->at, text, strlen(text)) == 0;
}

bool cursor_take(struct cursor *cursor, const char *text)
{
    size_t length = strlen(text);
    if (cursor_left(cursor) < length || memcmp(cursor->at, text, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

bool cursor_number(struct cursor *cursor, unsigned base, uint64_t *value)
{
    struct cursor place = *cursor;
    cursor_spaces(&place);
    if (base == 16 && cursor_left(&place) > 2 && digit(place.at[2]) < 16)
        cursor_take(&place, "0x");
    const char *first = place.at;
    uint64_t sum = 0;
    for (; place.at < place.end && digit(*place.at) < base; place.at++)
        if (__builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, digit(*place.at), &sum))
            return false;
    if (place.at == first)
        return false;
    *cursor = place;
    *value = sum;
    return true;
}

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if ((c | 32) >= 'a' && (c | 32) <= 'f')
        return (unsigned)((c | 32) - 'a') + 10;
    return 99;
}

struct cursor cursor_until(struct cursor *cursor, char stop)
{
    const char *end =
        cursor->at < cursor->end ? memchr(cursor->at, stop, cursor_left(cursor)) : NULL;
    struct cursor part = {cursor->at, end ? end : cursor->end};
    cursor->at = end ? end + 1 : cursor->end;
    return part;
}

const char *cursor_last(const struct cursor *cursor, const char *text)
{
    size_t length = strlen(text);
    if (cursor_left(cursor) < length)
        return NULL;
    for (const char *at = cursor->end - length; at >= cursor->at; at--)
        if (memcmp(at, text, length) == 0)
            return at;
    return NULL;
}
