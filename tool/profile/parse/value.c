/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/parse/value.h. Written by hand because files of other tools are large and most
 * of their values are looked at once: docs/DECISIONS.md compares it with a library. Nothing is
 * copied; a text is unescaped when it is asked for. Objects and arrays that are open are an array
 * of their own, so that nesting, which is bounded, costs no C stack.
 */
#include "tool/profile/parse/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"
#include "tool/profile/profile.h"

/* Profiles of other tools nest a dozen deep; a file that opens brackets without end is refused. */
enum { DEPTH_MAX = 512, KIND_BITS = 3 };

struct parser {
    struct values *values;
    struct read_error *error;
    const char *at, *end;
    uint32_t open[DEPTH_MAX]; /* containers that are not closed yet */
    unsigned depth;
};

static void skip_blanks(struct parser *parser);
static bool parse_value(struct parser *parser);
static bool refuse(const struct parser *parser, const char *reason);
static bool add(struct parser *parser, enum value_kind kind);
static bool parse_text(struct parser *parser);
static bool parse_word(struct parser *parser, const char *word, enum value_kind kind);
static bool parse_number(struct parser *parser);
static bool among(const char *set, char c);
static bool parse_behind(struct parser *parser, bool *more);
static bool parse_key(struct parser *parser);
static const char *place(const struct values *values, uint32_t value);
static size_t put_escape(char *to, const char **at, const char *end);
static unsigned hex4(const char *at, const char *end);
static size_t put_utf8(char *to, unsigned code);

bool value_parse(struct values *values, const struct read_input *input, struct read_error *error)
{
    struct parser parser = {
        .values = values, .error = error, .at = input->bytes, .end = input->bytes + input->size};
    bool more = true;
    memset(values, 0, sizeof *values);
    values->bytes = input->bytes;
    values->size = input->size;
    skip_blanks(&parser);
    while (more) {
        place_at(parser.at);
        if (!parse_value(&parser) || !parse_behind(&parser, &more))
            return false;
    }
    return true;
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\n' ||
                                        *parser->at == '\t' || *parser->at == '\r'))
        parser->at++;
}

/* One value, or the start of one with others in it. */
static bool parse_value(struct parser *parser)
{
    char c = parser->at < parser->end ? *parser->at : '\0';
    if (c == '{' || c == '[') {
        if (parser->depth == DEPTH_MAX)
            return refuse(parser, "values are nested too deeply");
        parser->open[parser->depth++] = (uint32_t)parser->values->count;
        if (!add(parser, c == '{' ? VALUE_OBJECT : VALUE_ARRAY))
            return false;
        parser->at++;
        return true;
    }
    if (c == '"')
        return parse_text(parser);
    if (c == 't')
        return parse_word(parser, "true", VALUE_TRUE);
    if (c == 'f')
        return parse_word(parser, "false", VALUE_FALSE);
    if (c == 'n')
        return parse_word(parser, "null", VALUE_NULL);
    return parser->at < parser->end ? parse_number(parser) : refuse(parser, "the JSON is cut off");
}

static bool refuse(const struct parser *parser, const char *reason)
{
    return read_refuse(parser->error, (uint64_t)(parser->at - parser->values->bytes), "%s", reason);
}

static bool add(struct parser *parser, enum value_kind kind)
{
    struct values *values = parser->values;
    if (values->count >= UINT32_MAX - 1 ||
        !list_reserve(&values->items, &values->room, values->count + 1, sizeof *values->items))
        return refuse(parser, "not enough memory for its values");
    uint64_t offset = (uint64_t)(parser->at - values->bytes);
    values->items[values->count] =
        (struct value){offset << KIND_BITS | (unsigned)kind, (uint32_t)values->count + 1};
    values->count++;
    return true;
}

static bool parse_text(struct parser *parser)
{
    if (!add(parser, VALUE_TEXT))
        return false;
    for (parser->at++; parser->at < parser->end && *parser->at != '"'; parser->at++)
        if (*parser->at == '\\' && parser->end - parser->at > 1)
            parser->at++;
    if (parser->at >= parser->end)
        return refuse(parser, "a text is cut off");
    parser->at++;
    return true;
}

static bool parse_word(struct parser *parser, const char *word, enum value_kind kind)
{
    size_t length = strlen(word);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
        return refuse(parser, "not JSON");
    if (!add(parser, kind))
        return false;
    parser->at += length;
    return true;
}

static bool parse_number(struct parser *parser)
{
    const char *first = parser->at;
    if (!add(parser, VALUE_NUMBER))
        return false;
    while (parser->at < parser->end && among("+-.eE0123456789", *parser->at))
        parser->at++;
    return parser->at > first || refuse(parser, "not JSON");
}

static bool among(const char *set, char c)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Behind a value: closes what ends here. *more says that another value must follow. */
static bool parse_behind(struct parser *parser, bool *more)
{
    struct values *values = parser->values;
    *more = false;
    while (parser->depth > 0) {
        uint32_t container = parser->open[parser->depth - 1];
        bool object = value_kind(values, container) == VALUE_OBJECT;
        skip_blanks(parser);
        if (parser->at >= parser->end)
            return refuse(parser, "the JSON is cut off");
        if (*parser->at == (object ? '}' : ']')) {
            values->items[container].next = (uint32_t)values->count;
            parser->depth--;
            parser->at++;
            continue;
        }
        if (values->count > container + 1 && *parser->at++ != ',')
            return refuse(parser, "a comma is missing");
        skip_blanks(parser);
        *more = true;
        return !object || parse_key(parser);
    }
    return true;
}

static bool parse_key(struct parser *parser)
{
    if (parser->at >= parser->end || *parser->at != '"')
        return refuse(parser,
                      parser->at < parser->end ? "a member has no name" : "the JSON is cut off");
    if (!parse_text(parser))
        return false;
    skip_blanks(parser);
    if (parser->at >= parser->end || *parser->at != ':')
        return refuse(parser, "a member has no value");
    parser->at++;
    skip_blanks(parser);
    return true;
}

void value_free(struct values *values)
{
    free(values->items);
    free(values->text);
}

enum value_kind value_kind(const struct values *values, uint32_t value)
{
    return (enum value_kind)(values->items[value].place & ((1 << KIND_BITS) - 1));
}

static const char *place(const struct values *values, uint32_t value)
{
    return values->bytes + (values->items[value].place >> KIND_BITS);
}

uint32_t value_first(const struct values *values, uint32_t container)
{
    enum value_kind kind = value_kind(values, container);
    bool holds = kind == VALUE_ARRAY || kind == VALUE_OBJECT;
    return holds && values->items[container].next > container + 1 ? container + 1 : 0;
}

uint32_t value_after(const struct values *values, uint32_t container, uint32_t before)
{
    uint32_t next = values->items[before].next;
    return next < values->items[container].next ? next : 0;
}

uint32_t value_member(const struct values *values, uint32_t object, const char *name)
{
    size_t length = strlen(name);
    if (value_kind(values, object) != VALUE_OBJECT)
        return 0;
    for (uint32_t key = value_first(values, object); key != 0;) {
        const char *there = place(values, key) + 1;
        uint32_t value = value_after(values, object, key);
        if ((size_t)(values->bytes + values->size - there) > length &&
            memcmp(there, name, length) == 0 && there[length] == '"')
            return value;
        key = value_after(values, object, value);
    }
    return 0;
}

/* The input ends in a 0, so a number does. */
double value_real(const struct values *values, uint32_t value)
{
    if (value_kind(values, value) != VALUE_NUMBER)
        return 0;
    double number = strtod(place(values, value), NULL);
    return number >= -1e300 && number <= 1e300 ? number : 0;
}

int64_t value_integer(const struct values *values, uint32_t value)
{
    const char *text = place(values, value);
    if (value_kind(values, value) != VALUE_NUMBER)
        return 0;
    size_t digits = strspn(text + (*text == '-'), "0123456789");
    if (digits < 19 && !among(".eE", text[digits + (*text == '-')]))
        return strtoll(text, NULL, 10);
    double number = value_real(values, value);
    return fabs(number) < 0x1p62 ? (int64_t)number : 0;
}

int64_t value_member_integer(const struct values *values, uint32_t object, const char *name)
{
    uint32_t member = value_member(values, object, name);
    return member == 0 ? 0 : value_integer(values, member);
}

/* ---- text ---- */

const char *value_text(struct values *values, uint32_t value, size_t *length)
{
    const char *first = place(values, value) + 1, *end = first, *at;
    bool escapes = false;
    *length = 0;
    if (value_kind(values, value) != VALUE_TEXT)
        return "";
    for (; *end != '"'; end++)
        if (*end == '\\') {
            escapes = true;
            end++;
        }
    *length = (size_t)(end - first);
    if (!escapes)
        return first;
    if (!list_reserve(&values->text, &values->text_room, *length + 1, 1)) {
        *length = 0;
        return "";
    }
    size_t used = 0;
    for (at = first; at < end;) {
        char c = *at++;
        if (c == '\\')
            used += put_escape(values->text + used, &at, end);
        else
            values->text[used++] = c;
    }
    *length = used;
    return values->text;
}

/* What is behind a backslash; moves on behind it. Never longer than what it was. */
static size_t put_escape(char *to, const char **at, const char *end)
{
    static const char from[] = "nrtbf", into[] = "\n\r\t\b\f";
    char c = *(*at)++;
    const char *known = memchr(from, c, sizeof from - 1);
    if (c != 'u') {
        *to = known ? into[known - from] : c;
        return 1;
    }
    unsigned code = hex4(*at, end);
    *at = end - *at < 4 ? end : *at + 4;
    if (code >= 0xd800 && code < 0xe000) { /* one of a pair */
        unsigned low =
            end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' ? hex4(*at + 2, end) : 0;
        if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
            return put_utf8(to, 0xfffd);
        *at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return put_utf8(to, code == 0 ? 0xfffd : code);
}

static unsigned hex4(const char *at, const char *end)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        char c = at + i < end ? at[i] : ' ';
        if (!among("0123456789abcdefABCDEF", c))
            return 0xfffd;
        sum = sum * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return sum;
}

static size_t put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    to[0] = (char)(leads[more] | code >> (6 * more));
    for (unsigned i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

uint32_t value_string(struct values *values, uint32_t value, struct profile *profile)
{
    size_t length;
    const char *text = value_text(values, value, &length);
    return profile_string(profile, text, length);
}
