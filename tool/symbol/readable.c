/* SPDX-License-Identifier: MIT */
/* The easy part of C++'s names: see symbol_readable. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/symbol/symbol.h"

/* Appends the identifier at *at, a length and its letters. */
static bool identifier(const char **at, char *text, size_t size)
{
    char *end;
    unsigned long length = strtoul(*at, &end, 10);
    size_t used = strlen(text);
    if (length == 0 || length > strlen(end) || used + length + 8 > size)
        return false;
    snprintf(text + used, size - used, "%s%.*s", used > 0 ? "::" : "", (int)length,
             strncmp(end, "_GLOBAL__N", 10) == 0 ? "(anonymous)" : end);
    *at = end + length;
    return true;
}

void symbol_readable(const char *name, char *text, size_t size)
{
    const char *at = name + 2;
    bool nested = false;
    text[0] = '\0';
    if (strncmp(name, "_Z", 2) != 0) {
        snprintf(text, size, "%s", name);
        return;
    }
    if (*at == 'L')
        at++;
    if (*at == 'N') {
        nested = true;
        at += 1 + strspn(at + 1, "rVKRO");
    }
    bool right = true;
    while (right && isdigit((unsigned char)*at)) {
        right = identifier(&at, text, size);
        if (!nested)
            break;
    }
    size_t used = strlen(text);
    if (used > 0 && right && !nested && *at == 'I')
        snprintf(text + used, size - used, "<...>");
    else if (used == 0 || !right || (nested && *at != 'E' && *at != 'C' && *at != 'D'))
        snprintf(text, size, "%s", name);
}
