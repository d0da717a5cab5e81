/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/capture_file.h. The file stays open for the whole run, in a program that may close
 * or reuse any descriptor: each call first checks that the descriptor still is our file. A
 * forked child closes its copy and begins a file of its own with the next snapshot.
 */
#include "lib/dump/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/format.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/dump/capture.h"
#include "lib/dump/dump_file.h"
#include "lib/dump/recorder_file.h"
#include "lib/dump/style.h"
#include "lib/heap/observer.h"

enum { MODE = 0600, BUFFER_SIZE = 16 << 10 }; /* a snapshot is a few writes; the buffer is static */

static BULK struct capture capture;
static struct sink sink;
static BULK char buffer[BUFFER_SIZE];
static BULK char asked[DUMP_NAME_SIZE]; /* the value of the option; empty: no capture */
static BULK char name[DUMP_NAME_SIZE];
static bool adopted; /* the file is a client's: `asked` is empty */
static int fd = -1;
static struct os_file_id id; /* the file that `fd` was opened on */

static bool complete; /* its last snapshot is in it */

bool capture_file_open(void)
{
    return fd >= 0;
}

bool capture_file_complete(void)
{
    return complete;
}

const char *capture_file_name(void)
{
    return name;
}

/* Whether the descriptor is still our file. Programs close descriptors that they do not know and
 * open others under the same number: those must be neither written to nor closed. */
static bool is_ours(int descriptor)
{
    struct os_file_id now = os_file_id(descriptor);
    return descriptor >= 0 && now.device == id.device && now.inode == id.inode;
}

static void let_go(void)
{
    if (is_ours(fd))
        os_close(fd);
    fd = -1;
}

static void give_up(void)
{
    let_go();
    asked[0] = '\0';
    adopted = false;
}

static int create(void)
{
    return os_open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                   MODE);
}

/* A file of that name exists. 0 if it was the capture of an earlier run and was removed, EBUSY if
 * it is the capture of a running process. */
static int make_way(void)
{
    int wrong = dump_file_refused(os_file_at(name));
    if (wrong != 0)
        return wrong;
    int old = os_open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (old < 0)
        return old == -ENOENT ? 0 : -old;
    char head[8];
    int error = EBUSY;
    if (os_lock_file(old)) {
        ssize_t got = os_read(old, head, sizeof head);
        bool ours =
            got == 0 || (got == sizeof head && memcmp(head, FORMAT_MAGIC, sizeof head) == 0);
        error = ours ? -os_unlink(name) : EEXIST;
    }
    os_close(old);
    return error;
}

/* Writes "folder/run.memoir" or "folder/run-PID.memoir" into `name`. */
static bool call_it(bool with_pid)
{
    struct print text;
    size_t length = strlen(asked), dot = length;
    for (size_t i = length; i > 1 && asked[i - 1] != '/' && dot == length; i--)
        if (asked[i - 1] == '.' && asked[i - 2] != '/')
            dot = i - 1;
    print_start(&text, name, sizeof name);
    print_bytes(&text, asked, dot);
    if (with_pid)
        print_format(&text, "-%d", (int)os_pid());
    print_text(&text, asked + dot);
    print_string(&text);
    return !text.cut;
}

static int open_it(bool with_pid)
{
    if (!call_it(with_pid))
        return -ENAMETOOLONG;
    int got = create();
    if (got != -EEXIST)
        return got;
    int error = make_way();
    if (error == EBUSY && !with_pid)
        return open_it(true);
    return error != 0 ? -error : create();
}

/* The first bytes, in the file that is open as `fd`. */
static int begin_here(void)
{
    os_lock_file(fd);
    id = os_file_id(fd);
    sink_to_fd(&sink, fd, buffer, sizeof buffer);
    capture_begin(&capture, &sink);
    recorder_file_capture(name);
    return sink_flush(&sink);
}

static int begin(bool with_pid)
{
    int got = open_it(with_pid);
    if (got < 0) {
        give_up();
        return -got;
    }
    fd = os_duplicate(got); /* to a high number, out of the program's way, as it stays open */
    if (fd != got)
        os_close(got);
    return begin_here();
}

int capture_file_begin(const char *path)
{
    struct print text;
    give_up();
    print_start(&text, asked, sizeof asked);
    print_text(&text, path);
    print_string(&text);
    int error = begin(false);
    if (error != 0)
        give_up();
    series_resident(error == 0);
    return error;
}

int capture_file_adopt(int passed)
{
    char link[40];
    struct print text;
    if (asked[0] != '\0' || adopted)
        return EBUSY;
    print_start(&text, link, sizeof link);
    print_format(&text, "/proc/thread-self/fd/%d", passed);
    ssize_t length = os_link(print_string(&text), name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    fd = os_duplicate(passed);
    if (fd == passed)
        return EMFILE;
    adopted = true;
    int error = begin_here();
    if (error != 0)
        give_up();
    series_resident(error == 0);
    return error;
}

static int still_there(void)
{
    if (is_ours(fd))
        return 0;
    int again = os_open(name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (again >= 0 && !is_ours(again)) {
        os_close(again);
        again = -1;
    }
    fd = again < 0 ? -1 : os_duplicate(again);
    if (again >= 0 && fd != again)
        os_close(again);
    sink.fd = fd;
    return fd < 0 ? EBADF : 0;
}

static int ready(void)
{
    if (adopted)
        return is_ours(fd) ? 0 : EBADF;
    if (asked[0] == '\0')
        return ENOENT;
    return fd < 0 ? begin(true) : still_there();
}

static int done(int error)
{
    if (error != 0 && error != ENOENT)
        give_up();
    return error;
}

int capture_file_snapshot(const char *reason, bool last)
{
    static BULK struct account account;
    int error = ready();
    if (error == 0) {
        account_take(&account);
        account_ask_kernel(&account);
        error = capture_snapshot(&capture, reason, &account);
    }
    if (error == 0 && last)
        error = capture_end(&capture);
    if (last && error == 0)
        give_up();
    complete = last && error == 0;
    return done(error);
}

int capture_file_mark(const char *mark)
{
    totals_high_water(); /* so that no moment of the capture is above the peak */
    struct account_sum total = account_now();
    int error = ready();
    recorder_file_mark(mark, &total);
    return done(error != 0 ? error : capture_mark(&capture, mark, &total));
}

void capture_file_forked(void)
{
    complete = false;
    let_go();
    adopted = false;
}
