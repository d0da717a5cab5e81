/* SPDX-License-Identifier: MIT */
/*
 * What the shells of the old commands share: lines with history where there is a terminal and
 * libedit, output into a file or a command.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/terminal/terminal.h"

/* libedit's, looked for once. */
struct editor {
    bool looked;
    char *(*read)(const char *prompt);
    int (*keep)(const char *line);
};

static void editor_open(struct editor *editor);

char *compat_line(const char *prompt, FILE *out)
{
    static struct editor editor;
    char *line = NULL;
    size_t room = 0;
    fflush(stdout);
    if (!editor.looked)
        editor_open(&editor);
    if (editor.read) {
        line = editor.read(prompt);
        if (line && line[strspn(line, " \t")] != '\0')
            editor.keep(line);
        return line;
    }
    fputs(prompt, out);
    fflush(out);
    ssize_t length = getline(&line, &room, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    size_t kept = 0;
    for (ssize_t i = 0; i < length; i++)
        if (line[i] != '\r' && line[i] != '\n')
            line[kept++] = line[i];
    line[kept] = '\0';
    return line;
}

static void editor_open(struct editor *editor)
{
    editor->looked = true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return;
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&editor->read = dlsym(library, "readline");
    *(void **)&editor->keep = dlsym(library, "add_history");
    if (!editor->keep)
        editor->read = NULL;
}

bool compat_divert(struct compat_divert *divert, char *line, bool tell)
{
    *divert = (struct compat_divert){.kept = -1};
    char *at = line;
    while (*at && !((*at == '>' || *at == '|') && at > line && isspace((unsigned char)at[-1])))
        at++;
    if (*at == '\0')
        return true;
    bool command = *at == '|';
    *at++ = '\0';
    at += strspn(at, " \t");
    at[strcspn(at, command ? "" : " \t")] = '\0';
    if (*at == '\0') {
        fputs("there is nothing behind > or |\n", stderr);
        return false;
    }
    fflush(stdout);
    if (tell && !command)
        fprintf(stderr, "Generating report in %s\n", at);
    divert->file = command ? popen(at, "we") : output_open(at, false);
    divert->command = command;
    if (!divert->file) {
        const char *reason = strerror(errno);
        if (tell) /* as Go says it */
            fprintf(stderr, "open %s: %c%s\n", at, tolower((unsigned char)reason[0]), reason + 1);
        else
            fprintf(stderr, "%s: %s\n", at, reason);
        return false;
    }
    divert->kept = dup(STDOUT_FILENO);
    dup2(fileno(divert->file), STDOUT_FILENO);
    return true;
}

void compat_divert_end(struct compat_divert *divert)
{
    fflush(stdout);
    if (!divert->file)
        return;
    dup2(divert->kept, STDOUT_FILENO);
    close(divert->kept);
    if (divert->command)
        pclose(divert->file);
    else
        fclose(divert->file);
}
