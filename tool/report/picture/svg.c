/* SPDX-License-Identifier: MIT */
/*
 * Bricks of the pictures. Names come from files that may be hostile: whatever is in them must
 * not end an element or a string early.
 *
 * Colours: a hue for each module, a shade for each function, of one lightness so that no box
 * shouts. The dark theme has the same hues with the lightness turned round.
 */
#include "tool/report/picture/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/terminal/terminal.h"

static const char dots[] = "\xe2\x80\xa6";

/* Degrees; heaps are green first, time is amber first. */
static const short hues[2][SVG_FAMILIES] = {
    {30, 208, 268, 162, 335, 52, 188, 215},
    {156, 208, 268, 32, 335, 52, 188, 215},
};

static unsigned svg_character(const unsigned char *text);
static void svg_cut(char text[SVG_NAME_MAX], unsigned columns);

void svg_text(FILE *file, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        unsigned length = svg_character(at);
        if (*at == '<')
            fputs("&lt;", file);
        else if (*at == '>')
            fputs("&gt;", file);
        else if (*at == '&')
            fputs("&amp;", file);
        else if (*at == '"')
            fputs("&quot;", file);
        else if (*at == '\'')
            fputs("&#39;", file);
        else if (*at == '\t' || *at == '\n')
            fputc(' ', file);
        else if (length == 0)
            fputs("\xef\xbf\xbd", file);
        else
            fwrite(at, 1, length, file);
        at += length == 0 ? 1 : length;
    }
}

/* The length of the character at `text` if it is well-formed UTF-8 that XML allows; else 0. */
static unsigned svg_character(const unsigned char *text)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f ? 1 : 0;
    unsigned length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    uint32_t code = text[0] & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    bool min = length == 2 || code >= (length == 3 ? 0x800u : 0x10000u);
    bool odd = (code >= 0xd800 && code < 0xe000) || (code & 0xfffe) == 0xfffe || code > 0x10ffff;
    bool control = code < 0xa0;
    return min && !odd && !control ? length : 0;
}

unsigned svg_columns(const char *text)
{
    unsigned columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

const char *svg_name(char text[SVG_NAME_MAX], const char *name, unsigned columns)
{
    if (columns > SVG_NAME_MAX / 4)
        columns = SVG_NAME_MAX / 4;
    if (columns < 3)
        return "";
    if (svg_columns(name) <= columns && strlen(name) < SVG_NAME_MAX)
        return name;
    char *wide = strdup(name);
    if (wide == NULL)
        return "";
    name_shorten(wide, columns, svg_columns, dots);
    if (svg_columns(wide) > columns || strlen(wide) >= SVG_NAME_MAX) {
        /* What is left may be "a::b<...>::c(...) const": qualifiers from the left, then the end. */
        for (const char *at = wide; *at != '\0'; at = name_skip(wide, at))
            if (at > wide && strncmp(at, "(\xe2\x80\xa6)", 5) == 0 && !name_scope(at)) {
                wide[at - wide] = '\0';
                break;
            }
        name_behead(wide, columns, svg_columns, "");
    }
    snprintf(text, SVG_NAME_MAX, "%s", wide);
    free(wide);
    if (svg_columns(text) > columns)
        svg_cut(text, columns);
    return text;
}

/* Cuts the end off, at a whole character. */
static void svg_cut(char text[SVG_NAME_MAX], unsigned columns)
{
    unsigned column = 0;
    size_t used = 0;
    for (; text[used] != '\0'; used++) {
        if (((unsigned char)text[used] & 0xc0) != 0x80 && ++column == columns)
            break;
    }
    if (text[used] != '\0' && used + sizeof dots <= SVG_NAME_MAX)
        memcpy(text + used, dots, sizeof dots);
}

uint32_t svg_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash ^ hash >> 15;
}

const char *svg_color(char text[8], bool memory, bool dark, unsigned family, unsigned shade)
{
    family %= SVG_FAMILIES;
    shade %= SVG_SHADES;
    bool grey = family == SVG_FAMILIES - 1;
    double hue = hues[memory][family] + (family == 0 ? 7.0 * shade - 10 : 3.0 * shade);
    double saturation = grey ? 0.04 : dark ? 0.30 : 0.46;
    double lightness = dark ? 0.27 + 0.028 * shade : 0.755 + 0.025 * shade;
    double chroma = saturation * fmin(lightness, 1 - lightness);
    static const unsigned char steps[3] = {0, 8, 4}; /* of red, green, blue on the circle of 12 */
    unsigned parts[3];
    for (unsigned i = 0; i < 3; i++) {
        double k = fmod(steps[i] + (hue + 360) / 30, 12);
        double part = lightness - chroma * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
        parts[i] = (unsigned)lround(255 * part);
    }
    snprintf(text, 8, "#%02x%02x%02x", parts[0] & 255, parts[1] & 255, parts[2] & 255);
    return text;
}

const char *svg_level_color(char text[8], bool dark, bool less, unsigned level)
{
    static const char *const colors[2][2] = {
        {"#e6e7ea #f6dcd8 #f1c1ba #eaa197 #e48a7e #dc7266",
         "#e6e7ea #dbe7f5 #bcd4ee #99bde4 #7fabdc #6398d2"},
        {"#3a3e45 #4a302d #65352f #823b33 #a04237 #be4a3c",
         "#3a3e45 #283646 #2a415d #2c4e78 #2f5d94 #346eb2"},
    };
    snprintf(text, 8, "%.7s", colors[dark][less] + (level < 6 ? level : 5) * 8);
    return text;
}

void svg_style(FILE *file, bool memory)
{
    char color[8];
    for (unsigned dark = 0; dark < 2; dark++) {
        if (dark)
            fputs("@media (prefers-color-scheme:dark){", file);
        for (unsigned family = 0; family < SVG_FAMILIES; family++)
            for (unsigned shade = 0; shade < SVG_SHADES; shade++)
                fprintf(file, ".c%u%u{fill:%s}", family, shade,
                        svg_color(color, memory, dark, family, shade));
        fputs(dark ? "svg{background:#15171b}.bg{fill:#15171b}.tx{fill:#e9ebee}.hd{fill:#f1f2f4}"
                     ".sub{fill:#a3a9b3}.ln{stroke:#3a3f47}}\n"
                   : "svg{background:#fff}.bg{fill:#fff}.tx{fill:#17202a}.hd{fill:#1c2127}"
                     ".sub{fill:#5b636e}.ln{stroke:#d5d9df}\n",
              file);
    }
}
