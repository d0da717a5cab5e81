/* SPDX-License-Identifier: MIT */
/* See tool/profile/write/line.h. */
#include "tool/profile/write/line.h"

#include <string.h>

#include "tool/terminal/terminal.h"

unsigned line_character(const char *text, char *instead)
{
    unsigned char first = (unsigned char)text[0], next = (unsigned char)text[1];
    unsigned length = json_character(text);
    bool control = first < ' ' || first == 0x7f || (first == 0xc2 && next < 0xa0);
    *instead = (char)(length == 0 ? '?' : control ? ' ' : '\0');
    return length == 0 ? 1 : length;
}

bool line_is_plain(const char *text)
{
    char instead = '\0';
    while (*text != '\0' && instead == '\0')
        text += line_character(text, &instead);
    return instead == '\0';
}

void line_put(const char *text, FILE *file)
{
    if (line_is_plain(text)) {
        fputs_unlocked(text, file);
        return;
    }
    while (*text != '\0') {
        char instead;
        for (unsigned length = line_character(text, &instead); length > 0; length--, text++)
            putc_unlocked(instead != '\0' ? instead : *text, file);
    }
}

void line_clean(char *text)
{
    char instead;
    for (unsigned length; *text != '\0'; text += length) {
        length = line_character(text, &instead);
        if (instead != '\0')
            memset(text, instead, length);
    }
}

void line_mend(char *text)
{
    for (unsigned length; *text != '\0'; text += length) {
        length = json_character(text);
        if (length == 0) {
            *text = '?';
            length = 1;
        }
    }
}
