/* SPDX-License-Identifier: MIT */
/*
 * See tool/terminal/style.h. Values have three digits and a unit in powers of 1024, as the
 * documents say; exact numbers are JSON's business. Names become shorter in steps that keep the
 * function itself longest: arguments of templates, namespaces, and only then the middle. Text is
 * measured in columns of the terminal, not in bytes or characters.
 */
#include "tool/terminal/style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/compiler.h"
#include "tool/terminal/json.h"
#include "tool/terminal/name.h"

struct scale {
    const char *unit;
    double size;
};

static void value_write(char text[32], double value, const struct scale *scales, size_t count);
static bool turns(const char *text);
static const char *name_fit(char *text, size_t size, const char *name, unsigned width, bool cut);
static const char *dots(void);
static void name_halve(char *text, size_t size, unsigned width);
static size_t columns_bytes(const char *text, unsigned columns);

const char *style_file(const char *name)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.,/+=@%-";
    return name && name[0] && name[strspn(name, plain)] == '\0' ? name : "FILE";
}

const char *style_value(char text[32], double value, enum value_unit unit)
{
    static const struct scale bytes[] = {{"B", 1},
                                         {"KiB", 1024},
                                         {"MiB", 1048576},
                                         {"GiB", 1073741824},
                                         {"TiB", 1099511627776},
                                         {"PiB", 1125899906842624}};
    static const struct scale counts[] = {{"", 1},    {"K", 1e3},  {"M", 1e6},
                                          {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};
    const char *micro = MB_CUR_MAX > 1 ? "µs" : "us";
    const struct scale times[] = {{"ns", 1},  {micro, 1e3},  {"ms", 1e6},
                                  {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
    if (!isfinite(value)) {
        snprintf(text, 32, "-");
        return text;
    }
    if (value_unit_ns(unit) > 0)
        value_write(text, value * value_unit_ns(unit), times, COUNT_OF(times));
    else if (unit == UNIT_BYTES)
        value_write(text, value, bytes, COUNT_OF(bytes));
    else
        value_write(text, value, counts, COUNT_OF(counts));
    return text;
}

/* Three digits of the value in the largest of the scales that is not above it. */
static void value_write(char text[32], double value, const struct scale *scales, size_t count)
{
    double size = fabs(value);
    size_t at = 0;
    while (at + 1 < count && size >= scales[at + 1].size * 0.9995)
        at++;
    double shown = value / scales[at].size, digits = fabs(shown);
    int places = (at == 0 && scales[0].size >= 1 && digits == floor(digits)) || digits >= 99.95 ? 0
                 : digits >= 9.995                                                              ? 1
                                                                                                : 2;
    snprintf(text, 32, "%.*f%s%s", places, shown, scales[at].unit[0] ? " " : "", scales[at].unit);
}

const char *style_share(char text[16], double part, double whole)
{
    double share = whole != 0 ? 100 * part / whole : 0;
    if (!isfinite(share) || fabs(share) > 99999)
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.*f %%", fabs(share) < 9.95 && share != 0 ? 1 : 0,
                 fabs(share) < 0.05 ? 0 : share);
    return text;
}

const char *style_time(char text[32], int64_t ns)
{
    int64_t seconds = ns / 1000000000;
    if (seconds < 1 && seconds > -1)
        style_value(text, (double)ns, UNIT_NANOSECONDS);
    else if (seconds < 10)
        snprintf(text, 32, "%.2f s", (double)ns / 1e9);
    else if (seconds < 60)
        snprintf(text, 32, "%.1f s", (double)ns / 1e9);
    else if (seconds < 3600)
        snprintf(text, 32, "%ldm%02lds", (long)(seconds / 60), (long)(seconds % 60));
    else if (seconds < 86400)
        snprintf(text, 32, "%ldh%02ldm", (long)(seconds / 3600), (long)(seconds / 60 % 60));
    else
        snprintf(text, 32, "%ldd%02ldh", (long)(seconds / 86400), (long)(seconds / 3600 % 24));
    return text;
}

const char *style_trend(const struct style *style, char *text, size_t size, const float *values,
                        unsigned count)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    float max = 0;
    size_t used = 0;
    for (unsigned i = 0; i < count; i++)
        max = values[i] > max ? values[i] : max;
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        unsigned level = 0;
        if (max > 0 && values[i] > 0)
            level = (unsigned)(values[i] / max * 7.999f);
        const char *cell = (style->utf8 ? blocks : letters)[level < 8 ? level : 7];
        if (used + strlen(cell) + 1 > size)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s", cell);
    }
    return text;
}

unsigned style_character(const char *at, const char *end, size_t *length)
{
    unsigned char first = (unsigned char)*at;
    *length = 1;
    if (first < 0x80)
        return 1;
    while (at + *length < end && ((unsigned char)at[*length] & 0xc0) == 0x80)
        ++*length;
    wchar_t wide;
    mbstate_t state = {0};
    if (MB_CUR_MAX == 1 || mbrtowc(&wide, at, *length, &state) != *length)
        return 1;
    int columns = wcwidth(wide);
    return columns < 0 ? 1 : (unsigned)columns;
}

unsigned style_columns(const char *text)
{
    const char *end = text + strlen(text);
    unsigned columns = 0;
    for (size_t length; text < end; text += length)
        columns += style_character(text, end, &length);
    return columns;
}

const char *style_copy(char *text, size_t size, const char *from)
{
    snprintf(text, size, "%s", from);
    style_clean(text);
    return text;
}

void style_clean(char *text)
{
    for (size_t i = 0, length; text[i]; i += length) {
        unsigned char c = (unsigned char)text[i], next = (unsigned char)text[i + 1];
        length = json_character(text + i);
        bool control = c < ' ' || c == 127 || (c == 0xc2 && next < 0xa0);
        if (length > 0 && !control && !turns(text + i))
            continue;
        length = length > 0 ? length : 1;
        memset(text + i, '?', length);
    }
}

/* Whether a character has what is behind it written from right to left, so that it looks as if it
 * said something else: U+202A to U+202E, U+2066 to U+2069. */
static bool turns(const char *text)
{
    unsigned char last = text[0] == '\xe2' ? (unsigned char)text[2] : 0;
    return (last >= 0xaa && last <= 0xae && text[1] == '\x80') ||
           (last >= 0xa6 && last <= 0xa9 && text[1] == '\x81');
}

void style_paint(const struct style *style, const char *code, const char *text)
{
    if (style->color && code[0])
        fprintf(style->out, "\033[%sm%s\033[0m", code, text);
    else
        fputs(text, style->out);
}

void style_heat(const struct style *style, double share, const char *text, unsigned width)
{
    double size = fabs(share);
    const char *code = size >= 0.2 ? "1;31" : size >= 0.05 ? "33" : size < 0.01 ? "2" : "";
    unsigned columns = style_columns(text);
    fprintf(style->out, "%*s", columns < width ? (int)(width - columns) : 0, "");
    style_paint(style, code, text);
}

void style_dim(const struct style *style, const char *text)
{
    style_paint(style, "2", text);
}

const char *style_name(char *text, size_t size, const char *name, unsigned width)
{
    return name_fit(text, size, name, width, true);
}

/* `cut`: not only arguments go, but also namespaces and at last the middle of the name. */
static const char *name_fit(char *text, size_t size, const char *name, unsigned width, bool cut)
{
    size_t room = strlen(name) + sizeof "...";
    char *copy = malloc(room);
    if (!copy) {
        snprintf(text, size, "%s", name);
        style_clean(text);
        return text;
    }
    memcpy(copy, name, strlen(name) + 1);
    style_clean(copy);
    name_shorten(copy, width, style_columns, dots());
    if (!cut && strlen(copy) >= size) {
        width = (unsigned)size / 4;
        cut = true;
    }
    if (cut) {
        name_behead(copy, width, style_columns, dots());
        name_halve(copy, room, width);
    }
    snprintf(text, size, "%s", copy);
    free(copy);
    return text;
}

static const char *dots(void)
{
    return MB_CUR_MAX > 1 ? "…" : "...";
}

/* What is left is one word: its beginning and its end. */
static void name_halve(char *text, size_t size, unsigned width)
{
    unsigned columns = style_columns(text), mark = style_columns(dots());
    if (columns <= width || width <= mark + 1)
        return;
    unsigned tail = (width - mark + 1) / 2;
    size_t head = columns_bytes(text, width - mark - tail), length = strlen(dots());
    size_t skip = columns_bytes(text, columns - tail);
    while (style_columns(text + skip) > tail) /* a wide character is on the border */
        skip += columns_bytes(text + skip, 2);
    size_t rest = strlen(text + skip);
    if (head + length + rest >= size)
        return;
    memmove(text + head + length, text + skip, rest + 1);
    memcpy(text + head, dots(), length);
}

/* Bytes of `text` that fill at most `columns` columns, whole characters. */
static size_t columns_bytes(const char *text, unsigned columns)
{
    const char *at = text, *end = text + strlen(text);
    for (size_t length; at < end; at += length) {
        unsigned more = style_character(at, end, &length);
        if (more > columns)
            break;
        columns -= more;
    }
    return (size_t)(at - text);
}

const char *style_cell(const struct style *style, char *text, size_t size, const char *name,
                       unsigned width)
{
    return name_fit(text, size, name, width, style->fits);
}

void style_cut(char *text, size_t size, unsigned width)
{
    unsigned mark = style_columns(dots());
    if (style_columns(text) <= width || width <= mark)
        return;
    size_t length = columns_bytes(text, width - mark);
    snprintf(text + length, size - length, "%s", dots());
}

void style_place(const struct style *style, const char *file, uint32_t line)
{
    char text[1024];
    if (file[0] == '\0')
        return;
    snprintf(text, sizeof text, line > 0 ? "%s:%u" : "%s", file, line);
    style_clean(text);
    style_place_as(style, file, text);
}

void style_place_as(const struct style *style, const char *file, const char *shown)
{
    char path[1024];
    bool link = style->links && file[0] == '/';
    snprintf(path, sizeof path, "%s", file);
    style_clean(path);
    if (link)
        fprintf(style->out, "\033]8;;file://%s\033\\", path);
    fputs(shown, style->out);
    if (link)
        fputs("\033]8;;\033\\", style->out);
}
