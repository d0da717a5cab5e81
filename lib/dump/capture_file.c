/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/capture_file.h. The file stays open for the whole run, in a program that may close
 * or reuse any descriptor: each call first checks that the descriptor still is our file. A
 * forked child closes its copy and begins a file of its own with the next snapshot.
 *
 * When the file has become too long, a shorter one is written beside it and takes its place
 * (lib/dump/capture_thin.h). Where that can't be done, snapshots become rarer instead.
 */
#include "lib/dump/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/config.h"
#include "base/file/capture_format.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_thin.h"
#include "lib/dump/dump_file.h"
#include "lib/dump/recorder_file.h"
#include "lib/dump/style.h"
#include "lib/heap/observer.h"

enum { MODE = 0600, BUFFER_SIZE = 16 << 10 }; /* a snapshot is a few writes; the buffer is static */
enum {
    PARTS_MAX = 1024,     /* snapshots of a file */
    NAMES_MAX = 1000,     /* that are tried: each exec leaves one */
    SIZE_USUAL = 4 << 20, /* where the option leaves it to us: this, */
    SNAPSHOTS_USUAL = 16, /* or this many snapshots like the last one */
    RARER = 16,           /* where no shorter file can be made: one each 16th of the run */
};

static BULK struct capture capture;
static struct sink sink;
static BULK char buffer[BUFFER_SIZE];
static BULK char asked[DUMP_NAME_SIZE]; /* the value of the option; empty: no capture */
static BULK char name[DUMP_NAME_SIZE];
static bool adopted; /* the file is a client's: `asked` is empty */
static bool beside;  /* it lies beside the recorder file */
static int fd = -1;
static struct os_file_id id; /* the file that `fd` was opened on */

static bool complete; /* its last snapshot is in it */
static BULK struct capture_part parts[PARTS_MAX];
static unsigned part_count;
static uint64_t kept_bytes;            /* how long it was when it had been made shorter */
static uint64_t begun_ms, snapshot_ms; /* its start and its last snapshot */
static bool stuck;                     /* it can't be made shorter */

bool capture_file_open(void)
{
    return fd >= 0;
}

bool capture_file_complete(void)
{
    return complete;
}

bool capture_file_beside(void)
{
    return beside;
}

const char *capture_file_name(void)
{
    return name;
}

/* Whether the descriptor is still our file. Programs close descriptors that they do not know and
 * open others under the same number: those must be neither written to nor closed. */
static bool is_ours(int descriptor)
{
    return os_file_is(descriptor, id);
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

/* Writes "folder/run.memoir", "folder/run-PID.memoir" or "folder/run-PID-2.memoir" into `name`, for
 * a number of 0, 1 or 2. */
static bool call_it(unsigned number)
{
    struct print text;
    size_t length = strlen(asked), dot = length;
    for (size_t i = length; i > 1 && asked[i - 1] != '/' && dot == length; i--)
        if (asked[i - 1] == '.' && asked[i - 2] != '/')
            dot = i - 1;
    print_start(&text, name, sizeof name);
    print_bytes(&text, asked, dot);
    if (number > 0)
        print_format(&text, "-%d", (int)os_pid());
    if (number > 1)
        print_format(&text, "-%u", number);
    print_text(&text, asked + dot);
    print_string(&text);
    return !text.cut;
}

/* Under the first name that is free, or that an earlier run's capture makes free. */
static int open_it(bool with_pid)
{
    int got = -EEXIST;
    for (unsigned i = with_pid ? 1 : 0; i < NAMES_MAX && got == -EEXIST; i++) {
        if (!call_it(i))
            return -ENAMETOOLONG;
        got = create();
        if (got != -EEXIST || !config.capture_replace)
            continue;
        int error = make_way();
        if (error != EBUSY)
            return error != 0 ? -error : create();
    }
    return got;
}

/* The first bytes, in the file that is open as `fd`. */
static int begin_here(void)
{
    os_lock_file(fd);
    id = os_file_id(fd);
    sink_to_fd(&sink, fd, buffer, sizeof buffer);
    part_count = 0;
    kept_bytes = 0;
    begun_ms = snapshot_ms = os_now_ms();
    stuck = adopted; /* the client has the file open */
    capture_begin(&capture, &sink);
    recorder_file_capture(name);
    return sink_flush(&sink);
}

static void asked_set(const char *path, const char *suffix)
{
    struct print text;
    store_release(&asked[0], '\0');
    print_start(&text, asked + 1, sizeof asked - 1);
    print_format(&text, "%s%s", path + 1, suffix);
    print_string(&text);
    store_release(&asked[0], path[0]); /* last: another thread may fork meanwhile */
}

/* A process that has another user than the one who runs `memoir run` may make files only where
 * recorder files are. */
static int open_beside(void)
{
    if (!config.recorder_run || config.recorder[0] == '\0' || beside)
        return -EACCES;
    asked_set(config.recorder, ".memoir");
    beside = true;
    return open_it(true);
}

static int begin(bool with_pid)
{
    int got = open_it(with_pid);
    if (got == -EACCES || got == -EPERM)
        got = open_beside();
    if (got < 0) {
        give_up();
        return -got;
    }
    fd = os_move_up(got);
    return begin_here();
}

int capture_file_begin(const char *path)
{
    give_up();
    if (path[0] == '\0')
        return ENOENT;
    asked_set(path, "");
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

bool capture_file_adopted(void)
{
    return adopted;
}

static int still_there(void)
{
    if (is_ours(fd))
        return 0;
    fd = sink.fd = os_open_again(name, O_WRONLY | O_APPEND, id);
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

/* How long the file may become. */
static uint64_t size_limit(void)
{
    const struct capture_part *last = &parts[part_count - 1];
    uint64_t usual = SNAPSHOTS_USUAL * (last->end - last->start);
    uint64_t max = config.capture_size;
    if (max == 0)
        max = usual > SIZE_USUAL ? usual : SIZE_USUAL;
    return max > 2 * kept_bytes ? max : 2 * kept_bytes;
}

/* A shorter file in the place of this one. 0 or an errno value: then this one stays. */
static int shorten(void)
{
    uint64_t max = size_limit(), length = 0;
    if (!is_ours(fd))
        return EBADF;
    int from = os_open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    int to = from < 0 ? from : dump_file_open(name);
    int copy = to < 0 ? to : os_duplicate(to); /* the lock is of both */
    int error = to < 0 ? -to : copy == to ? EMFILE : is_ours(from) ? 0 : EBADF;
    if (error == 0) {
        capture_thin_choose(parts, part_count, max / 2, PARTS_MAX / 2);
        error = capture_thin(from, to, parts, &part_count, &length);
    }
    if (error != 0)
        dump_file_abandon();
    else
        error = dump_file_finish(name, true);
    if (from >= 0)
        os_close(from);
    if (error != 0) {
        if (copy >= 0 && copy != to)
            os_close(copy);
        return error;
    }
    os_close(fd);
    fd = sink.fd = copy;
    id = os_file_id(fd);
    sink.total = kept_bytes = length;
    return 0;
}

/* After a snapshot that began at `start`. */
static void part_add(uint64_t start, bool maps, bool leaks)
{
    if (stuck)
        return;
    parts[part_count++] = (struct capture_part){start, sink.total, snapshot_ms, maps, leaks, true};
    if (part_count < PARTS_MAX && sink.total <= size_limit())
        return;
    uint64_t scan = 0;
    for (unsigned i = 0; i < part_count; i++)
        scan = parts[i].leaks ? parts[i].time_ms : scan;
    stuck = shorten() != 0;
    bool still = scan == 0;
    for (unsigned i = 0; i < part_count; i++)
        still |= parts[i].time_ms == scan;
    if (!still) /* what the last scan has found is to be in the next snapshot again */
        capture.leaks_ms = 0;
}

bool capture_file_due(void)
{
    uint64_t now_ms = os_now_ms(), max = config.capture_size;
    if (!stuck || sink.total < (max == 0 ? SIZE_USUAL : max))
        return true;
    return (now_ms - snapshot_ms) * RARER >= now_ms - begun_ms;
}

int capture_file_snapshot(const char *reason, bool last)
{
    static BULK struct account account;
    int error = ready();
    uint64_t start = sink.total, scan_ms = capture.leaks_ms;
    uint32_t maps = capture.maps_crc;
    if (error == 0) {
        account_take(&account);
        account_ask_kernel(&account, false);
        capture.pins_always = last;
        error = capture_snapshot(&capture, reason, &account);
    }
    snapshot_ms = os_now_ms();
    if (error == 0 && last)
        error = capture_end(&capture);
    else if (error == 0)
        part_add(start, maps != capture.maps_crc, scan_ms != capture.leaks_ms);
    if (last && error == 0)
        give_up();
    complete = last && error == 0;
    return done(error);
}

int capture_file_now(void)
{
    return done(ready());
}

int capture_file_mark(const char *mark)
{
    totals_high_water(); /* so that no moment of the capture is above the peak */
    struct account_sum total = account_now();
    int error = ready();
    recorder_file_mark(mark, &total);
    return done(error != 0 ? error : capture_mark(&capture, mark, &total));
}

void capture_file_stopped(void)
{
    complete = false;
}

void capture_file_forked(void)
{
    complete = false;
    let_go();
    adopted = false;
}
