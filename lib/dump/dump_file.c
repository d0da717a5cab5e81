/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/dump_file.h. The temporary file is opened with O_EXCL and O_NOFOLLOW and mode 0600,
 * so nothing that another user put there is written to; it is locked while it is written, so that
 * other processes can tell it from one that a killed process left. Cleaning and keeping are
 * done here, too, as both remove files that this module made.
 */
#include "lib/dump/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/dump/style.h"

enum {
    MODE = 0600,
    TRIES = 8,              /* attempts to find a temporary name that is free */
    FOLDER_SIZE = 16 << 10, /* bytes of names read at a time, */
    FOLDER_READS = 64,      /* this often: a huge folder must not delay the program */
    KEPT_MAX = 1024,        /* files that can be remembered */
    TARGET_SIZE = DUMP_NAME_SIZE,
};

static const char stem[] = ".memoir.", end[] = ".tmp";

/* The one file that is being written. */
static BULK char temporary[TARGET_SIZE + 64];
static int temporary_fd = -1;
static bool exists;

static size_t folder_length(const char *path);
static int fd_away(int fd);

int dump_file_open(const char *target)
{
    int fd = -EEXIST;
    for (int i = 0; i < TRIES && (fd == -EEXIST || fd == -EINTR); i++) {
        struct print text;
        print_start(&text, temporary, sizeof temporary);
        print_bytes(&text, target, folder_length(target));
        print_format(&text, "%s%d.", stem, (int)os_pid());
        print_hex(&text, os_random());
        print_text(&text, end);
        print_string(&text);
        fd = text.cut
                 ? -ENAMETOOLONG
                 : os_open(temporary,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, MODE);
    }
    fd = fd_away(fd);
    if (fd >= 0)
        os_lock_file(fd); /* tells processes, also of other containers, that the file is not
                             stale */
    temporary_fd = fd < 0 ? -1 : fd;
    exists = fd >= 0;
    return fd;
}

/* Not one of the standard descriptors, or a negative errno. */
static int fd_away(int fd)
{
    bool standard = fd >= 0 && fd <= 2; /* the program closed it, but may still print to it */
    return standard ? os_move_up(fd) : fd;
}

int dump_file_open_stream(const char *target)
{
    int fd = fd_away(os_open(target, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0));
    temporary_fd = fd < 0 ? -1 : fd;
    exists = false;
    return fd;
}

/* The length of a path's folder with its last slash. */
static size_t folder_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

/* Some file systems report a full disk only on close. */
static int close_now(void)
{
    if (temporary_fd < 0)
        return 0;
    int got = os_close(temporary_fd);
    temporary_fd = -1;
    return got == -EINTR ? 0 : -got;
}

void dump_file_abandon(void)
{
    if (exists)
        os_unlink(temporary);
    exists = false;
    close_now();
}

int dump_file_refused(enum os_file there)
{
    switch (there) {
    case OS_FILE_LINK:
        return ELOOP;
    case OS_FILE_FOLDER:
        return EISDIR;
    case OS_FILE_STREAM:
    case OS_FILE_OTHER:
        return EEXIST;
    default:
        return 0;
    }
}

int dump_file_finish(const char *target, bool replace)
{
    int error = close_now();
    if (!exists)
        return error; /* a stream */
    if (error == 0 && replace)
        error = dump_file_refused(os_file_at(target));
    if (error == 0) {
        error = -os_rename(temporary, target, replace);
        if (error == EEXIST && !replace)
            return error;
        exists = error != 0;
    }
    dump_file_abandon();
    return error;
}

void dump_file_recover(void)
{
    exists = false;
    close_now();
}

/* The process id in ".memoir.PID.NUMBER.tmp"; 0 if the name has another form. */
static pid_t writer_of(const char *name)
{
    if (strncmp(name, stem, sizeof stem - 1) != 0)
        return 0;
    const char *at = name + sizeof stem - 1;
    pid_t pid = text_pid(&at);
    if (*at++ != '.')
        return 0;
    const char *number = at;
    while ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'))
        at++;
    return at > number && strcmp(at, end) == 0 ? pid : 0;
}

/* A file is removed only if its process is gone and it is not locked, since either check alone may
 * be wrong: the ids of another container's processes are unknown, and some file systems have no
 * locks. */
static void clean_one(const char *folder, size_t folder_bytes, const char *name)
{
    pid_t writer = writer_of(name);
    if (writer == 0 || os_process_alive(writer))
        return;
    struct print path;
    print_start(&path, temporary, sizeof temporary);
    print_bytes(&path, folder, folder_bytes);
    print_text(&path, name);
    print_string(&path);
    if (path.cut)
        return;
    int fd = os_open(temporary, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return;
    if (os_lock_file(fd))
        os_unlink(temporary);
    os_close(fd);
}

void dump_file_clean(const char *target)
{
    static BULK char names[FOLDER_SIZE] __attribute__((aligned(8)));
    size_t bytes = folder_length(target);
    struct print path;
    print_start(&path, temporary, sizeof temporary);
    print_bytes(&path, target, bytes);
    print_char(&path, '.');
    int fd = os_open(print_string(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    for (int i = 0; i < FOLDER_READS; i++) {
        ssize_t got = os_folder_read(fd, names, sizeof names);
        if (got <= 0)
            break;
        for (ssize_t at = 0; at < got;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(names + at);
            clean_one(target, bytes, entry->name);
            at += entry->length;
        }
    }
    os_close(fd);
}

/* A ring of the kept files, oldest first, starting at `first`. */
struct kept {
    unsigned family;
    bool removed;
    uint64_t bytes;
    char path[TARGET_SIZE];
};

static struct kept *ring;
static unsigned first, count;

static struct kept *kept_at(unsigned i)
{
    return &ring[(first + i) % KEPT_MAX];
}

static void keep_drop_oldest(unsigned family)
{
    for (unsigned i = 0; i < count; i++) {
        struct kept *kept = kept_at(i);
        if (!kept->removed && kept->family == family) {
            os_unlink(kept->path);
            kept->removed = true;
            break;
        }
    }
    while (count > 0 && kept_at(0)->removed) {
        first = (first + 1) % KEPT_MAX;
        count--;
    }
}

void dump_file_keep(unsigned family, const char *path, uint64_t bytes, unsigned max,
                    uint64_t bytes_max)
{
    if (max == 0 && bytes_max == 0)
        return;
    if (ring == NULL)
        ring = os_map(KEPT_MAX * sizeof *ring);
    if (ring == NULL)
        return;
    if (count == KEPT_MAX)
        keep_drop_oldest(kept_at(0)->family);
    struct kept *kept = kept_at(count++);
    kept->family = family;
    kept->removed = false;
    kept->bytes = bytes;
    memcpy(kept->path, path, strlen(path) + 1);
    for (;;) {
        unsigned files = 0;
        uint64_t sum = 0;
        for (unsigned i = 0; i < count; i++)
            if (!kept_at(i)->removed && kept_at(i)->family == family) {
                files++;
                sum += kept_at(i)->bytes;
            }
        /* The newest file stays, however large it is. */
        if (files <= 1 || ((max == 0 || files <= max) && (bytes_max == 0 || sum <= bytes_max)))
            return;
        keep_drop_oldest(family);
    }
}

void dump_file_keep_forget(void)
{
    first = 0;
    count = 0;
}
