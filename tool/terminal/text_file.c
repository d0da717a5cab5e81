/* SPDX-License-Identifier: MIT */
/* See tool/terminal/text_file.h. */
#include "tool/terminal/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/terminal/suggest_file.h"

enum { TEXT_FILE_MAX = 1 << 20 };

char *text_file_read(const char *path, struct error *error)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(TEXT_FILE_MAX + 1) : NULL;
    size_t size = text ? fread(text, 1, TEXT_FILE_MAX + 1, file) : 0;
    const char *reason = NULL;
    if (!file || ferror(file))
        reason = strerror(errno);
    else if (!text)
        reason = error_out_of_memory;
    else if (size > TEXT_FILE_MAX)
        reason = "it is larger than 1 MiB";
    else if (memchr(text, '\0', size))
        reason = "it is not text";
    else
        text[size] = '\0';
    if (reason) {
        error_set(error, ERROR_INPUT, "%s can't be read: %s", path, reason);
        suggest_file(path,
                     "its lines are explained by: memoir help leaks (suppressions), memoir help "
                     "check (budgets)",
                     error);
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}
