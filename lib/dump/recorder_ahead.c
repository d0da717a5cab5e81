/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/recorder_ahead.h. A child takes a file by its lock of fcntl, which is the process's
 * own: of two siblings that try at once one fails. The lock goes with its process, and then the
 * file is not empty any more.
 */
#include "lib/dump/recorder_ahead.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/file/recorder_format.h"
#include "base/os.h"
#include "base/print.h"

/* Each is a descriptor that the program has less: one in 16 of its limit, as many as a server has
 * workers. A child that finds none left says so. */
enum { MODE = 0600, AHEAD_MIN = 8, AHEAD_MAX = 64, LIMIT_SHARE = 16 };

static BULK struct ahead {
    int fd; /* 0: none */
    struct os_file_id id;
} files[AHEAD_MAX];
static BULK char begin[RECORDER_PATH]; /* what their names begin with */
static BULK char path[RECORDER_PATH];  /* of the one that is made or removed */

static unsigned ahead_count(void);
static bool ahead_open(struct ahead *file);
static void name_make(char *name, size_t size, unsigned number);
static bool is_empty(int fd);
static void let_go(struct ahead *file);

bool ahead_make(const char *start)
{
    struct print text;
    for (unsigned i = 0; i < AHEAD_MAX; i++)
        if (files[i].fd > 0)
            return false;
    print_start(&text, begin, sizeof begin);
    print_format(&text, "%s-%d-ahead", start, (int)os_pid());
    print_string(&text);
    unsigned count = text.cut ? 0 : ahead_count();
    for (unsigned i = 0; i < count; i++) {
        name_make(path, sizeof path, i);
        if (!ahead_open(&files[i]))
            break;
    }
    return files[0].fd > 0;
}

static unsigned ahead_count(void)
{
    uint64_t count = os_limit(RLIMIT_NOFILE) / LIMIT_SHARE;
    return count < AHEAD_MIN ? AHEAD_MIN : count > AHEAD_MAX ? AHEAD_MAX : (unsigned)count;
}

static void name_make(char *name, size_t size, unsigned number)
{
    struct print text;
    print_start(&text, name, size);
    print_format(&text, "%s%u", begin, number);
    print_string(&text);
}

/* Only at a high number: where the limit on descriptors has none, the program needs the others. */
static bool ahead_open(struct ahead *file)
{
    int got = os_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, MODE);
    if (got < 0)
        return false;
    int up = os_move_up(got);
    if (up == got) {
        os_unlink(path);
        os_close(got);
        return false;
    }
    file->fd = up;
    file->id = os_file_id(up);
    return true;
}

void ahead_drop(void)
{
    for (unsigned i = 0; i < AHEAD_MAX; i++) {
        if (files[i].fd <= 0)
            continue;
        name_make(path, sizeof path, i);
        os_unlink(path);
        let_go(&files[i]);
    }
}

/* The program may have closed it, and opened another file under its number. */
static void let_go(struct ahead *file)
{
    if (os_file_is(file->fd, file->id))
        os_close(file->fd);
    file->fd = 0;
}

int ahead_take(char *name, size_t size)
{
    for (unsigned i = 0; i < AHEAD_MAX; i++) {
        int fd = files[i].fd;
        if (fd <= 0 || !os_file_is(fd, files[i].id) || !os_lock_for_process(fd))
            continue;
        if (!is_empty(fd)) { /* of a child that has ended */
            let_go(&files[i]);
            continue;
        }
        files[i].fd = 0;
        name_make(name, size, i);
        return fd;
    }
    return -1;
}

static bool is_empty(int fd)
{
    char first;
    return os_read_at(fd, &first, sizeof first, 0) == 0;
}
