/* SPDX-License-Identifier: MIT */
/* What the pictures share: text that is safe in XML, names that fit, colours of both themes. */
#ifndef REPORT_PICTURE_SVG_H
#define REPORT_PICTURE_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SVG_FAMILIES = 8,   /* hues: of modules, of sites; the last is grey */
    SVG_SHADES = 4,     /* of a hue */
    SVG_NAME_MAX = 1600 /* bytes of a name with its end */
};

/* Escaped; what is no UTF-8 or no character of XML becomes U+FFFD. */
void svg_text(FILE *file, const char *text);
/* The name in at most `columns` characters: template arguments and parameters go first, then
 * qualifiers, then the end. "" if there is no room for anything that helps. */
const char *svg_name(char text[SVG_NAME_MAX], const char *name, unsigned columns);
unsigned svg_columns(const char *text); /* characters */

/* The fills .c00 to .c73 (family, shade), .tx for text on them; for both themes. */
void svg_style(FILE *file, bool memory);
/* "#aabbcc" for places without style sheets. */
const char *svg_color(char text[8], bool memory, bool dark, unsigned family, unsigned shade);
/* Of a change, level 0 (none) to 5 (the most). */
const char *svg_level_color(char text[8], bool dark, bool less, unsigned level);
uint32_t svg_hash(const char *text);

#endif
