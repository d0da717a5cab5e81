/* SPDX-License-Identifier: MIT */
/* See tool/shell_words.h. */
#include "tool/shell_words.h"

#include <stdlib.h>
#include <string.h>

#include "tool/terminal/terminal.h"

static bool file_take(struct shell_words *line, const char **at, char **out);
static const char *word_take(const char **from, char **to, const char **error);

bool shell_words_split(struct shell_words *line, const char *text)
{
    size_t length = strlen(text), count = 0;
    *line = (struct shell_words){0};
    line->keep = malloc(2 * length + 2);
    line->words = calloc(length + 2, sizeof *line->words);
    char *out = line->keep;
    line->error = !out || !line->words ? error_out_of_memory : NULL;
    while (!line->error) {
        text += strspn(text, " \t\r\n");
        if (*text == '\0' || *text == '#')
            break;
        if (*text == '|') {
            text += 1 + strspn(text + 1, " \t");
            line->pipe = memcpy(out, text, strlen(text) + 1);
            if (*text == '\0')
                line->error = "a command is missing after |";
            break;
        }
        if (*text == '>') {
            file_take(line, &text, &out);
            continue;
        }
        line->words[count++] = (char *)(unsigned long)word_take(&text, &out, &line->error);
    }
    return line->error == NULL;
}

static bool file_take(struct shell_words *line, const char **at, char **out)
{
    *at += 1;
    line->append = **at == '>';
    *at += line->append;
    *at += strspn(*at, " \t");
    line->file = word_take(at, out, &line->error);
    if (*line->file == '\0')
        line->error = "a file name is missing after >";
    return line->error == NULL;
}

/* One word from *from into *to, which never overtakes it; *to ends behind its 0. Quotes may stand
 * anywhere in it. */
static const char *word_take(const char **from, char **to, const char **error)
{
    const char *at = *from, *word = *to;
    char *out = *to, quote = '\0';
    for (; *at; at++) {
        if (quote == '\0' && strchr(" \t\r\n", *at))
            break;
        if (quote == '\0' && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == quote && quote != '\0')
            quote = '\0';
        else if (*at == '\\' && quote == '\0' && at[1] == ' ')
            *out++ = *++at;
        else
            *out++ = *at;
    }
    if (quote != '\0')
        *error = "a quote is not closed";
    *from = at + (*at != '\0');
    *out++ = '\0';
    *to = out;
    return word;
}

void shell_words_free(struct shell_words *line)
{
    free(line->words);
    free(line->keep);
}
