/* SPDX-License-Identifier: MIT */
/*
 * Names as people write them: C++, Rust and D by libiberty. A function is shown without its
 * parameters and return type, which tell overloads apart and fill screens; the name that the
 * linker knows stays beside it.
 *
 * A short name may stand for one of gigabytes, because its parts can refer to each other. What
 * becomes too long is read once more, and then the arguments are left out as they come; what is
 * too long even so is left by longjmp out of the demangler, which holds nothing at that time.
 */
#include "tool/symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "tool/symbol/brief.h"

/* A short mangled name may stand for gigabytes: what is longer stays mangled, or becomes brief. */
enum { MANGLED_MAX = 1 << 14, TEXT_MAX = 1 << 16 };

struct text {
    char *bytes;
    size_t length;
    jmp_buf enough;
    struct brief *brief; /* NULL: the whole name is kept */
};

static char *demangle_as(const char *name, int flags);
static bool demangle(const char *name, int flags, struct text *text);
static bool demangle_once(const char *name, int flags, struct text *text);
static void text_add(const char *part, size_t length, void *context);
static void text_tidy(char *text);

char *symbol_demangle(const char *name)
{
    return demangle_as(name, DMGL_ANSI);
}

static char *demangle_as(const char *name, int flags)
{
    if (name[0] != '_' || strlen(name) > MANGLED_MAX)
        return NULL;
    if (name[1] == 'D') {
        char *found = dlang_demangle(name, 0), *parameters = found ? strrchr(found, '(') : NULL;
        if (parameters && parameters > found)
            *parameters = '\0';
        return found;
    }
    if (name[1] != 'Z' && name[1] != 'R' && strncmp(name, "___Z", 4) != 0)
        return NULL;
    struct text text = {.bytes = malloc(TEXT_MAX + 1)};
    char *found = NULL;
    if (text.bytes && demangle(name, flags, &text)) {
        text.bytes[text.length] = '\0';
        text_tidy(text.bytes);
        found = strdup(text.bytes);
    }
    free(text.bytes);
    return found;
}

static bool demangle(const char *name, int flags, struct text *text)
{
    struct brief brief = {.length = 0};
    if (demangle_once(name, flags, text))
        return true;
    if (text->length == 0)
        return false; /* no such name */
    text->brief = &brief;
    bool found = demangle_once(name, flags, text);
    text->brief = NULL;
    return found;
}

static bool demangle_once(const char *name, int flags, struct text *text)
{
    text->length = 0;
    if (setjmp(text->enough) != 0)
        return false;
    if (rust_demangle_callback(name, 0, text_add, text) && text->length > 0)
        return true;
    text->length = 0;
    return cplus_demangle_v3_callback(name, flags, text_add, text) && text->length > 0;
}

static void text_add(const char *part, size_t length, void *context)
{
    struct text *text = context;
    if (text->brief) {
        if (!brief_add(text->brief, part, length, text->bytes, TEXT_MAX, &text->length))
            longjmp(text->enough, 1);
        return;
    }
    if (length > TEXT_MAX - text->length)
        longjmp(text->enough, 1);
    memcpy(text->bytes + text->length, part, length);
    text->length += length;
}

/* `vector<pair<int, int> >` as it is written today. */
static void text_tidy(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (!(from[0] == ' ' && from[1] == '>' && from > text && from[-1] == '>'))
            *to++ = *from;
    *to = '\0';
}

char *symbol_demangle_whole(const char *name)
{
    return demangle_as(name, DMGL_ANSI | DMGL_PARAMS);
}
