/* SPDX-License-Identifier: MIT */
/* See tool/profile/parse/text_lines.h. */
#include "tool/profile/parse/text_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/memory/memory.h"
#include "tool/profile/profile.h"

struct text text_of(const struct read_input *input)
{
    return (struct text){input->bytes, input->bytes + input->size};
}

bool text_line(struct text *text, struct text *line)
{
    *line = (struct text){text->at, text->at};
    if (text->at == text->end)
        return false;
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *line = (struct text){text->at, end ? end : text->end};
    text->at = end ? end + 1 : text->end;
    place_at(text->at);
    if (line->at < line->end && line->end[-1] == '\r')
        line->end--;
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

void text_blank(struct text *text)
{
    while (text->at < text->end && is_blank(*text->at))
        text->at++;
}

void text_trim(struct text *text)
{
    text_blank(text);
    while (text->at < text->end && is_blank(text->end[-1]))
        text->end--;
}

bool text_starts(const struct text *text, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text->end - text->at) >= length && memcmp(text->at, word, length) == 0;
}

bool text_word(struct text *text, const char *word)
{
    if (!text_starts(text, word))
        return false;
    text->at += strlen(word);
    return true;
}

bool text_number(struct text *text, uint64_t *number)
{
    const char *at = text->at;
    uint64_t value = 0;
    for (; at < text->end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    if (at == text->at)
        return false;
    text->at = at;
    *number = value;
    return true;
}

bool text_signed(struct text *text, int64_t *number)
{
    struct text rest = *text;
    bool minus = text_word(&rest, "-");
    uint64_t value;
    if (!text_number(&rest, &value) || value > INT64_MAX)
        return false;
    *number = minus ? -(int64_t)value : (int64_t)value;
    *text = rest;
    return true;
}

static int digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

bool text_hex(struct text *text, uint64_t *number)
{
    const char *at = text->at;
    uint64_t value = 0;
    if (text->end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
        at += 2;
    const char *start = at;
    for (; at < text->end && digit(*at) >= 0; at++) {
        if (value >> 60 != 0)
            return false;
        value = value << 4 | (unsigned)digit(*at);
    }
    if (at == start)
        return false;
    text->at = at;
    *number = value;
    return true;
}

bool text_push(struct profile *profile, struct text_stack *room, uint32_t location)
{
    if (room->count == UINT32_MAX ||
        !list_reserve(&room->locations, &room->room, room->count + 1u, sizeof *room->locations)) {
        profile->failed = true;
        return false;
    }
    room->locations[room->count++] = location;
    return true;
}

bool text_stack(struct profile *profile, struct text *line, struct text_stack *room,
                uint32_t *stack)
{
    uint64_t address = 0;
    room->count = 0;
    for (text_blank(line); line->at < line->end; text_blank(line))
        if (!text_hex(line, &address) ||
            !text_push(profile, room, profile_address(profile, address, 0)))
            return false;
    if (room->count == 1 && address == 1) { /* memoir had no memory for it */
        struct profile_function function = {0};
        function.name = profile_string_of(profile, "[stack not recorded]");
        room->locations[0] = profile_named(profile, profile_function(profile, &function), 0, 0);
    }
    *stack = profile_stack(profile, room->locations, room->count);
    return true;
}
