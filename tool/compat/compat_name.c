/* SPDX-License-Identifier: MIT */
/* Names of functions as the old commands cut them. */
#include "tool/compat/compat.h"

#include <ctype.h>
#include <string.h>

static void strip_pairs(char *text, char open, char close, bool tail);
static void strip_type(char *text);
static bool is_word(char c);

char *compat_short_name(const char *name, bool keep_templates)
{
    char *text = strdup(name);
    if (!text)
        compat_out_of_memory();
    strip_pairs(text, '(', ')', true);
    if (!keep_templates)
        strip_pairs(text, '<', '>', false);
    strip_type(text);
    return text;
}

/* Takes out what stands between such signs, from the inside out; `tail` behind them as well. */
static void strip_pairs(char *text, char open, char close, bool tail)
{
    const char both[] = {open, close, '\0'};
    bool again = true;
    while (again) {
        again = false;
        for (char *at = strchr(text, open); at; at = strchr(at, open)) {
            char *end = at + 1 + strcspn(at + 1, both);
            if (*end != close) {
                at++;
                continue;
            }
            end++;
            const char *word = end + strspn(end, " \t");
            if (tail && strncmp(word, "const", 5) == 0)
                end = (char *)word + 5;
            memmove(at, end, strlen(end) + 1);
            again = true;
        }
    }
}

/* The type that a function template returns stands before its name, which has a scope. */
static void strip_type(char *text)
{
    for (size_t at = strlen(text); at > 0; at--) {
        if (!isspace((unsigned char)text[at - 1]) || !is_word(text[at]))
            continue;
        size_t end = at;
        while (is_word(text[end]))
            end++;
        if (text[end] == ':' && text[end + 1] == ':') {
            memmove(text, text + at, strlen(text + at) + 1);
            return;
        }
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}
