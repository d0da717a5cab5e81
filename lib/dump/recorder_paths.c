/* SPDX-License-Identifier: MIT */
/* See lib/dump/recorder_paths.h. */
#include "lib/dump/recorder_paths.h"

#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/print.h"

enum { MODE = 0600, NAME_SIZE = RECORDER_PATH + 64 };

static BULK struct recorder_paths paths;
static BULK char name[NAME_SIZE], temporary[NAME_SIZE];

static int create(const char *path);
static bool names_make(const char *recorder);
static bool paths_collect(const struct recorder_head *head);
static bool all_write(int fd);

void paths_write(const char *recorder, const struct recorder_head *head)
{
    if (confined(CONFINE_FILES) || !names_make(recorder))
        return;
    if (!paths_collect(head)) {
        os_unlink(name);
        return;
    }
    /* The first one is made in place: what a kill leaves of it goes with the recorder file. */
    int fd = create(name);
    bool first = fd >= 0;
    if (!first) {
        os_unlink(temporary);
        fd = create(temporary);
    }
    if (fd < 0)
        return;
    bool whole = all_write(fd);
    os_close(fd);
    if (!first && (!whole || os_rename(temporary, name, true) != 0))
        os_unlink(temporary);
}

static int create(const char *path)
{
    return os_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, MODE);
}

void paths_remove(const char *recorder)
{
    if (!names_make(recorder))
        return;
    os_unlink(name);
    os_unlink(temporary);
}

static bool names_make(const char *recorder)
{
    struct print text;
    size_t folder = strlen(recorder);
    while (folder > 0 && recorder[folder - 1] != '/')
        folder--;
    print_start(&text, name, sizeof name);
    print_bytes(&text, recorder, folder);
    print_format(&text, ".%s.paths", recorder + folder);
    print_string(&text);
    bool whole = !text.cut;
    print_start(&text, temporary, sizeof temporary);
    print_format(&text, "%s.new", name);
    print_string(&text);
    return whole && !text.cut;
}

/* False: there is none. */
static bool paths_collect(const struct recorder_head *head)
{
    bool some = head->capture[0] != '\0';
    memset(&paths, 0, sizeof paths);
    memcpy(paths.magic, RECORDER_PATHS_MAGIC, sizeof paths.magic);
    memcpy(paths.capture, head->capture, sizeof paths.capture);
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++) {
        if (head->told[i].format == RECORDER_FORMAT_NONE)
            continue;
        memcpy(paths.told[i], head->told[i].path, sizeof paths.told[i]);
        some = true;
    }
    return some;
}

static bool all_write(int fd)
{
    unsigned tries = 0;
    for (size_t at = 0; at < sizeof paths;) {
        ssize_t got = os_write(fd, (const char *)&paths + at, sizeof paths - at);
        if (got <= 0 && !os_again(got, &tries))
            return false;
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}
