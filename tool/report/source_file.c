/* SPDX-License-Identifier: MIT */
/* See tool/report/source_file.h. */
#include "tool/report/source_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/terminal/terminal.h"

enum { SOURCE_MAX = 64 << 20, SOURCE_PATH_MAX = 4096, TAB = 8 }; /* a longer file is no source */

static void source_find(struct source_file *file, const char *path, const char *folders);
static bool source_take_below(struct source_file *file, const char *folder, size_t length,
                              const char *path);
static bool source_take(struct source_file *file, const char *path);
static bool source_lines(struct source_file *file);

void source_file_open(struct source_file *file, const char *path, const char *folders,
                      const char *module, int64_t time_ns)
{
    struct stat source, program;
    *file = (struct source_file){0};
    if (path[0] != '\0')
        source_find(file, path, folders);
    if (file->path == NULL || !source_lines(file)) {
        source_file_free(file);
        return;
    }
    if (stat(file->path, &source) != 0)
        return;
    if (module[0] != '\0' && stat(module, &program) == 0)
        file->newer = source.st_mtime > program.st_mtime;
    else
        file->newer = time_ns > 0 && source.st_mtime > time_ns / 1000000000;
}

static void source_find(struct source_file *file, const char *path, const char *folders)
{
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        if (length > 0 && length < SOURCE_PATH_MAX &&
            source_take_below(file, folders, length, path))
            return;
        folders += length + (folders[length] == ':');
    }
    if (!source_take(file, path))
        source_take_below(file, ".", 1, path);
}

/* FOLDER/a/b/c.cc, FOLDER/b/c.cc, FOLDER/c.cc. */
static bool source_take_below(struct source_file *file, const char *folder, size_t length,
                              const char *path)
{
    char whole[SOURCE_PATH_MAX];
    for (const char *end = path; end != NULL; end = strchr(end, '/')) {
        end += *end == '/';
        int used = snprintf(whole, sizeof whole, "%.*s/%s", (int)length, folder, end);
        if (*end != '\0' && used > 0 && (size_t)used < sizeof whole && source_take(file, whole))
            return true;
    }
    return false;
}

/* Takes the file if it can be read and is one. */
static bool source_take(struct source_file *file, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > SOURCE_MAX)
        return false;
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return false;
    size_t room = (size_t)about.st_size;
    file->text = malloc(room + 1);
    if (file->text != NULL) {
        file->size = fread(file->text, 1, room, stream);
        file->path = strdup(path);
    }
    fclose(stream);
    return file->path != NULL;
}

static bool source_lines(struct source_file *file)
{
    size_t count = 1;
    for (size_t i = 0; i < file->size; i++)
        count += file->text[i] == '\n';
    file->lines = malloc((count + 1) * sizeof *file->lines);
    if (file->lines == NULL)
        return false;
    file->lines[0] = 0;
    for (size_t i = 0; i < file->size; i++)
        if (file->text[i] == '\n')
            file->lines[++file->count] = i + 1;
    if (file->size > file->lines[file->count])
        file->lines[++file->count] = file->size;
    return true;
}

void source_file_free(struct source_file *file)
{
    free(file->path);
    free(file->text);
    free(file->lines);
    *file = (struct source_file){0};
}

const char *source_file_line(const struct source_file *file, uint32_t line, char *text, size_t size)
{
    size_t used = 0;
    if (line > 0 && line <= file->count) {
        const char *at = file->text + file->lines[line - 1], *end = file->text + file->lines[line];
        for (; at < end && *at != '\n' && *at != '\r' && used + 1 < size; at++) {
            if (*at != '\t') {
                text[used++] = *at != '\0' ? *at : '?';
                continue;
            }
            do {
                text[used++] = ' ';
            } while (used % TAB != 0 && used + 1 < size);
        }
    }
    text[used] = '\0';
    style_clean(text);
    return text;
}
