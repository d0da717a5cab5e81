/* SPDX-License-Identifier: MIT */
/* A line of `memoir shell` as words. Quotes are sh's, and so are > file, >> file, | command. */
#ifndef TOOL_SHELL_WORDS_H
#define TOOL_SHELL_WORDS_H

#include <stdbool.h>

struct shell_words {
    char **words;      /* ends in NULL */
    const char *file;  /* > or >>; NULL: none */
    bool append;       /* it was >> */
    const char *pipe;  /* all behind |; NULL: none */
    const char *error; /* what is wrong */
    char *keep;
};

/* False: see `error`. Pair with shell_words_free, also then. */
bool shell_words_split(struct shell_words *line, const char *text);
void shell_words_free(struct shell_words *line);

#endif
