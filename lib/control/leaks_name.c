/* SPDX-License-Identifier: MIT */
/* See lib/control/leaks_name.h. */
#include "lib/control/leaks_name.h"

#include <stdlib.h>
#include <string.h>

/* The C++ library's, where the program has one. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status)
    __attribute__((weak));

static bool demangle(char *text, size_t size);
static void shorten(char *text);

void leaks_name(uintptr_t pc, bool brief, struct code_name *name)
{
    code_name_find(pc, name);
    if (demangle(name->function, sizeof name->function) && brief)
        shorten(name->function);
}

static bool demangle(char *text, size_t size)
{
    int status = -1;
    char *plain = __cxa_demangle == NULL || strncmp(text, "_Z", 2) != 0
                      ? NULL
                      : __cxa_demangle(text, NULL, NULL, &status);
    size_t length = plain == NULL ? 0 : strlen(plain);
    bool fits = length > 0 && length < size;
    if (fits)
        memcpy(text, plain, length + 1);
    free(plain);
    return fits;
}

/* What is in brackets goes, and " const" behind it. Operators are left as they are: theirs may be
 * part of the name. */
static void shorten(char *text)
{
    char *to = text;
    unsigned depth = 0;
    if (strstr(text, "operator") != NULL)
        return;
    for (const char *at = text; *at != '\0'; at++) {
        depth += *at == '(' || *at == '<';
        if (depth == 0)
            *to++ = *at;
        bool closes = *at == ')' || *at == '>';
        depth -= closes && depth > 0;
        if (closes && depth == 0 && strcmp(at + 1, " const") == 0)
            break;
    }
    *to = '\0';
}
