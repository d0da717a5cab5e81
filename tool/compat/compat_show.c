/* SPDX-License-Identifier: MIT */
/*
 * The old commands' pictures, and the programs that they show them with. A viewer is of no use to
 * a user who sends the output into a file, so the picture goes there then.
 */
#include "tool/compat/compat.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tool/report/picture/picture.h"

/* The format, and the programs that show it; no ending: standard output. */
static const struct kind {
    enum compat_option how;
    enum picture_format format;
    const char *ending, *viewer;
} kinds[] = {{COMPAT_PS, PICTURE_PS2, "", NULL},
             {COMPAT_PDF, PICTURE_PDF, "", NULL},
             {COMPAT_SVG, PICTURE_SVG, "", NULL},
             {COMPAT_GIF, PICTURE_GIF, "", NULL},
             {COMPAT_PNG, PICTURE_PNG, "", NULL},
             {COMPAT_GV, PICTURE_PS2, ".ps", "gv"},
             {COMPAT_EVINCE, PICTURE_PDF, ".pdf", "evince"},
             {COMPAT_EOG, PICTURE_SVG, ".svg", "eog"},
             {COMPAT_WEB, PICTURE_SVG, ".svg", NULL}};

static bool start(const struct compat_words *words, const char *viewer, const char *path);

void compat_open(const struct compat_words *words, const char *viewer, const char *path)
{
    static const char *const browsers[] = {"xdg-open", "x-www-browser", "google-chrome", "chromium",
                                           "firefox"};
    if (viewer) {
        if (!start(words, viewer, path))
            fprintf(stderr, "%s is not installed; the file is %s\n", viewer, path);
        return;
    }
    fprintf(stderr, "Loading web page file://%s\n", path);
    for (size_t i = 0; i < COUNT_OF(browsers); i++)
        if (start(words, browsers[i], path))
            return;
    fputs("Could not load web browser.\n", stderr);
}

/* gv is told how large, and to draw large pictures as they are. */
static bool start(const struct compat_words *words, const char *viewer, const char *path)
{
    char scale[24], *all[5] = {(char *)viewer};
    size_t count = 1;
    pid_t child;
    snprintf(scale, sizeof scale, "--scale=%.0f", words->value[COMPAT_SCALE].number);
    if (strcmp(viewer, "gv") == 0) {
        if (words->command != COMPAT_GO)
            all[count++] = scale;
        all[count++] = "--noantialias";
    }
    all[count] = (char *)path;
    return posix_spawnp(&child, viewer, NULL, NULL, all, environ) == 0;
}

void compat_show(const struct compat_words *words, const char *dot, enum compat_option how)
{
    const struct kind *kind = &kinds[0];
    struct view_error error = {.text = ""};
    struct stat output;
    char path[64];
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].how == how)
            kind = &kinds[i];
    bool file = fstat(STDOUT_FILENO, &output) == 0 && S_ISREG(output.st_mode);
    if (kind->ending[0] == '\0' || file) {
        if (!picture_layout(dot, kind->format, stdout, &error))
            compat_fail("%s", error.text);
        return;
    }
    snprintf(path, sizeof path, "/tmp/memoir-graph-XXXXXX%s", kind->ending);
    int handle = mkstemps(path, (int)strlen(kind->ending));
    FILE *stream = handle >= 0 ? fdopen(handle, "w") : NULL;
    if (!stream) {
        perror(path);
        compat_end(1);
    }
    if (!picture_layout(dot, kind->format, stream, &error))
        compat_fail("%s", error.text);
    if (fclose(stream) != 0) {
        perror(path);
        compat_end(1);
    }
    compat_open(words, kind->viewer, path);
}
