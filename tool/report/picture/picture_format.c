/* SPDX-License-Identifier: MIT */
/* See tool/report/picture/picture_format.h. */
#include "tool/report/picture/picture_format.h"

#include <string.h>

#include "tool/terminal/terminal.h"

#define X(id, ending) [PICTURE_##id] = ending,
static const char *const words[] = {[PICTURE_NONE] = "", PICTURE_FORMATS(X)[PICTURE_PS2] = "ps2"};
#undef X
#define X(id, ending) " ." ending
const char picture_endings[] = PICTURE_FORMATS(X);
#undef X

const char *picture_format_word(enum picture_format format)
{
    return words[format];
}

enum picture_format picture_format_of(const char *path)
{
    size_t length = pack_stem(path);
    for (enum picture_format i = PICTURE_NONE + 1; i < PICTURE_PS2; i++) {
        size_t of = strlen(words[i]);
        if (length > of && path[length - of - 1] == '.' &&
            memcmp(path + length - of, words[i], of) == 0)
            return i;
    }
    return PICTURE_NONE;
}
