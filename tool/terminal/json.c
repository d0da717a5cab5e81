/* SPDX-License-Identifier: MIT */
/*
 * See tool/terminal/json.h. The one place of the command that writes JSON. Nothing is kept but the
 * depth: a report of a million rows needs no memory. Control characters and broken UTF-8 never
 * reach the output, since it may be shown on a terminal, or be part of a page.
 */
#include "tool/terminal/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

void json_start(struct json *json, FILE *file, bool pretty)
{
    memset(json, 0, sizeof *json);
    json->file = file;
    json->pretty = pretty;
}

static void line(const struct json *json)
{
    if (!json->pretty)
        return;
    putc_unlocked('\n', json->file);
    for (unsigned i = 0; i < json->depth; i++)
        fputs("  ", json->file);
}

unsigned json_character(const char *start)
{
    const unsigned char *text = (const unsigned char *)start;
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned length = text[0] < 0x80 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (length == 1)
        return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    uint32_t code = text[0] & (0xffu >> (length + 1));
    for (unsigned i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    return code >= min[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length : 0;
}

/* XML has no U+FFFE, U+FFFF and their like. */
static bool is_noncharacter(const unsigned char *at, unsigned length)
{
    return length >= 3 && at[length - 1] >= 0xbe && at[length - 2] == 0xbf &&
           (at[length - 3] & 0x0f) == 0x0f;
}

static void quoted(const struct json *json, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    FILE *file = json->file;
    const char *special = json->embedded ? "\"\\<>&'" : "\"\\";
    putc_unlocked('"', file);
    while (*at != '\0') {
        size_t plain = 0;
        while (at[plain] >= 0x20 && at[plain] < 0x7f && !strchr(special, at[plain]))
            plain++;
        fwrite_unlocked(at, 1, plain, file);
        at += plain;
        if (*at == '\0')
            break;
        unsigned length = json_character((const char *)at);
        if (length == 0 || (json->embedded && is_noncharacter(at, length)))
            fputs("\xef\xbf\xbd", file); /* the character that stands for none */
        else if (!json->embedded && (*at == '"' || *at == '\\'))
            fprintf(file, "\\%c", *at);
        else if (*at <= 0x7f)
            fprintf(file, "\\u%04x", *at);
        else if (*at == 0xc2 && at[1] < 0xa0) /* terminals may obey these as well */
            fprintf(file, "\\u%04x", at[1]);
        else
            fwrite(at, 1, length, file);
        at += length == 0 ? 1 : length;
    }
    putc_unlocked('"', file);
}

/* What stands before a value. */
static void begin(struct json *json, const char *key)
{
    if (json->filled[json->depth])
        putc_unlocked(',', json->file);
    if (json->depth > 0)
        line(json);
    json->filled[json->depth] = true;
    if (!key)
        return;
    quoted(json, key);
    fputs(json->pretty ? ": " : ":", json->file);
}

static void open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    putc_unlocked(bracket, json->file);
    if (json->depth + 1 < COUNT_OF(json->filled))
        json->depth++;
    json->filled[json->depth] = false;
    json->array[json->depth] = bracket == '[';
}

void json_object(struct json *json, const char *key)
{
    open(json, key, '{');
}

void json_array(struct json *json, const char *key)
{
    open(json, key, '[');
}

void json_end(struct json *json)
{
    bool filled = json->filled[json->depth], array = json->array[json->depth];
    json->depth--;
    if (filled)
        line(json);
    putc_unlocked(array ? ']' : '}', json->file);
    if (json->depth == 0 && json->pretty)
        putc_unlocked('\n', json->file);
}

void json_text(struct json *json, const char *key, const char *text)
{
    begin(json, key);
    quoted(json, text);
}

void json_number(struct json *json, const char *key, int64_t number)
{
    begin(json, key);
    fprintf(json->file, "%" PRId64, number);
}

void json_real(struct json *json, const char *key, double number)
{
    begin(json, key);
    if (isfinite(number))
        fprintf(json->file, "%.9g", number);
    else
        fputs("null", json->file);
}

void json_micros(struct json *json, const char *key, int64_t time_ns)
{
    begin(json, key);
    fprintf(json->file, "%s%lld.%03d", time_ns < 0 ? "-" : "", llabs(time_ns / 1000),
            abs((int)(time_ns % 1000)));
}

void json_flag(struct json *json, const char *key, bool flag)
{
    begin(json, key);
    fputs(flag ? "true" : "false", json->file);
}

void json_text_begin(struct json *json, const char *key)
{
    begin(json, key);
    putc_unlocked('"', json->file);
}

void json_text_end(struct json *json)
{
    putc_unlocked('"', json->file);
}

void json_written(struct json *json, const char *key, const char *value)
{
    begin(json, key);
    fputs(value == NULL ? "null" : value, json->file);
}
