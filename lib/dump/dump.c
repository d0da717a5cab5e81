/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/dump.h. All buffers are static, because the stack may be that of a signal handler;
 * the lock gives them to one dump at a time.
 *
 * A dump: the lock is taken with all signals held back, the name is chosen (dump_name.c), the
 * profile is written to a temporary file (format.c, dump_file.c), and the file gets its name. What
 * fails is said in one line with the next step; an automatic dump that fails for the same reason as
 * the one before says nothing.
 */
#include "lib/dump/dump.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/file/sink.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/dump/capture_file.h"
#include "lib/dump/dump_file.h"
#include "lib/dump/dump_lock.h"
#include "lib/dump/dump_name.h"
#include "lib/dump/recorder_file.h"
#include "lib/heap/observer.h"

enum {
    BUFFER_SIZE = 32 << 10, /* so that a dump of some MiB is some hundred writes */
    NAME_TRIES = 64,        /* files of an earlier process with our id: containers start at id 1 */
    LINE_SIZE = DUMP_NAME_SIZE + 256,
};

static struct lock lock = {.rank = LOCK_DUMP};
/* What the program is to be told when the lock is given (`dump_style.done`). */
enum { FINISHED_MAX = 4 };
struct finished {
    void (*done)(const char *name);
    char name[DUMP_NAME_SIZE];
};
static BULK struct finished finished[FINISHED_MAX];
static unsigned finished_count;
static BULK char buffer[BUFFER_SIZE];
static BULK char line[LINE_SIZE], reason_text[128];
BULK char dump_last_name[DUMP_NAME_SIZE];
static uint64_t written, failed;
static int last_error; /* of automatic dumps: the same error is reported once */
static bool copied;    /* by a fork, since `process` was set */
static int process;    /* the process whose files are remembered */
static struct os_signals signals;
static unsigned cleaned; /* one bit for each of enum dump_names whose folder was cleaned */
static uint64_t last_ms; /* when the last dump was made, or the first style was set */

static void own_process(void);

/* Holds back the program's signal handlers during a dump: they might jump out of it, or allocate.
 */
bool dump_lock(bool wait)
{
    if (lock_held != 0 || confined(CONFINE_FILES))
        return false;
    struct os_signals before;
    os_signals_hold(&before);
    if (wait) {
        lock_take(&lock);
    } else if (!lock_try(&lock)) {
        os_signals_release(&before);
        return false;
    }
    signals = before;
    own_process();
    return true;
}

/* A forked child leaves its parent's files alone. A vfork child has another id, too, but shares the
 * parent's memory. */
static void own_process(void)
{
    int pid = os_pid();
    bool same = process == pid || (process != 0 && !copied && !alloc_forked());
    copied = false;
    if (same)
        return;
    if (process != 0) {
        dump_file_keep_forget();
        capture_file_forked();
    }
    process = pid;
}

/* The program's functions are not called by a thread of ours, which has nothing of libc's: the next
 * thread of the program that runs triggers calls them. */
static NOINLINE void unlock_and_tell(void)
{
    struct os_signals before = signals;
    if (os_thread_is_ours(os_tid())) {
        lock_give(&lock);
        os_signals_release(&before);
        store_relaxed(&totals_due, true);
        return;
    }
    struct finished now[FINISHED_MAX];
    unsigned count = finished_count;
    memcpy(now, finished, count * sizeof now[0]);
    finished_count = 0;
    lock_give(&lock);
    os_signals_release(&before);
    for (unsigned i = 0; i < count; i++)
        now[i].done(now[i].name);
}

void dump_unlock(void)
{
    if (unlikely(finished_count > 0)) {
        unlock_and_tell();
        return;
    }
    struct os_signals before = signals;
    lock_give(&lock);
    os_signals_release(&before);
}

/* A trigger that was turned away meanwhile is not left to the next slow call: an idle program may
 * make none. */
void dump_unlock_and_look(void)
{
    dump_unlock();
    if (load_relaxed(&totals_due))
        triggers_run();
}

static void tell_later(const struct dump_style *style)
{
    void (*done)(const char *name) = load_acquire(&style->done); /* mallctl may change it */
    if (likely(done == NULL) || finished_count == FINISHED_MAX)
        return;
    finished[finished_count].done = done;
    memcpy(finished[finished_count++].name, dump_last_name, sizeof dump_last_name);
}

int dump_lock_error(void)
{
    if (confined(CONFINE_FILES))
        return ENOSYS;
    return lock_held == 0 ? EBUSY : EDEADLK;
}

void dumps_confine(uint32_t denied)
{
    bool locked = dump_lock(true);
    __atomic_fetch_or(&confine_denied, denied, __ATOMIC_ACQ_REL);
    if (locked)
        dump_unlock();
}

void dump_style_set(struct dump_style *style, const struct dump_style *value)
{
    if (!dump_lock(true))
        return;
    *style = *value;
    if (last_ms == 0)
        last_ms = os_now_ms();
    dump_unlock();
}

uint64_t dumps_written(void)
{
    return load_relaxed(&written);
}

uint64_t dumps_failed(void)
{
    return load_relaxed(&failed);
}

void dumps_recover(uint32_t parent_id)
{
    copied = true;
    finished_count = 0; /* the parent tells */
    recorder_file_forked();
    if (lock_break(&lock, parent_id))
        dump_file_recover();
}

static const char *advice(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "the folder does not exist; make it, or choose another one";
    case EACCES:
    case EPERM:
        return "not allowed; choose a folder that the program may write to";
    case EROFS:
        return "the file system is read-only; choose another folder";
    case ENOSPC:
    case EDQUOT:
        return "the disk is full; make room";
    case EFBIG:
        return "larger than the limit on files (ulimit -f)";
    case EMFILE:
    case ENFILE:
        return "too many open files; raise the limit (ulimit -n)";
    case ELOOP:
        return "a symbolic link is there and is not followed; remove it";
    case EISDIR:
        return "a folder is there; choose another name";
    case EEXIST:
        return "the path exists and memoir may not replace it; choose another name";
    case ENAMETOOLONG:
        return "the name is too long; choose a shorter one";
    case ENOTSUP:
        return "a copy-on-write file system can't reserve space; choose a folder on another one, "
               "/dev/shm for example";
    case EPIPE:
        return "the reader is gone";
    case EIO:
        return "the disk reports an error";
    case ENOSYS:
        return "the program's seccomp filter would end it; docs/CONTROL.md lists the system calls";
    case EDEADLK:
        return "the request came from inside the allocator; make it outside of signal handlers";
    default:
        return "the system refused";
    }
}

/* The option or variable that sets a style's names. */
static const char *setting_of(const struct dump_style *style)
{
    static const char *const settings[] = {
        [DUMP_NAMES_MEMOIR] = "dump.prefix",     [DUMP_NAMES_JEMALLOC] = "prof_prefix",
        [DUMP_NAMES_GPERFTOOLS] = "HEAPPROFILE", [DUMP_NAMES_CAPTURE] = "capture",
        [DUMP_NAMES_RECORDER] = "recorder",
    };
    return settings[style->names];
}

void dump_cause(struct print *out, int error)
{
    const char *text = advice(error);
    size_t length = 0;
    while (text[length] != '\0' && text[length] != ';')
        length++;
    print_bytes(out, text, length);
    print_format(out, " (error %d)", error);
}

void dump_advice(struct print *out, const struct dump_style *style, int error)
{
    bool place = error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM ||
                 error == EROFS || error == ENAMETOOLONG || error == ENOTSUP;
    print_text(out, advice(error));
    if (style != NULL && place)
        print_format(out, " with %s", setting_of(style));
    if (style != NULL && error == ENOSPC && style->names == DUMP_NAMES_MEMOIR)
        print_text(out, ", or keep fewer files with dump.keep");
    print_format(out, " (error %d)", error);
}

static bool is_automatic(enum dump_reason reason)
{
    return reason != DUMP_CALL && reason != DUMP_OUTSIDE;
}

/* The dump at exit waits, because it can't be made later. */
static bool waits(enum dump_reason reason)
{
    return !is_automatic(reason) || reason == DUMP_EXIT;
}

/* `named`: the caller chose the name, not the style. */
static int complain(const struct dump_style *style, enum dump_reason reason, const char *name,
                    bool named, int error)
{
    char text[LINE_SIZE]; /* not `line`: this thread may have interrupted a dump */
    struct print out;
    __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
    if (is_automatic(reason) && __atomic_exchange_n(&last_error, error, __ATOMIC_RELAXED) == error)
        return error;
    print_start(&out, text, sizeof text);
    if (style->announce)
        print_format(&out, "Failed dumping heap profile to %s. Numeric errno is %d\n", name, error);
    print_format(&out, "memoir: no %s ",
                 style->names == DUMP_NAMES_CAPTURE    ? "capture"
                 : style->names == DUMP_NAMES_RECORDER ? "recorder file"
                                                       : "dump");
    print_clean(&out, name, strlen(name), sizeof text - 200);
    print_text(&out, ": ");
    dump_advice(&out, named ? NULL : style, error);
    print_text(&out, "\n");
    message_flush(&out);
    if (style->aborts && is_automatic(reason))
        os_abort();
    return error;
}

static void announce(const struct dump_style *style, const char *name, const char *words)
{
    if (!style->announce)
        return;
    struct print out;
    print_start(&out, line, sizeof line);
    print_format(&out, "Dumping heap profile to %s (%s)\n", name, words);
    message_flush(&out);
}

static int write_profile(const struct dump_style *style, int fd, const char *words, uint64_t *bytes)
{
    static BULK struct account account;
    struct format_options options = style->options;
    struct sink sink;
    options.reason = words;
    if (style->format == FORMAT_CAPTURE ||
        (style->source == SOURCE_HEAP && style->format == FORMAT_PPROF)) {
        account_take(&account);
        if (style->format == FORMAT_CAPTURE)
            account_ask_kernel(&account, false);
        options.account = &account;
    }
    sink_to_fd(&sink, fd, buffer, sizeof buffer);
    int error = format_write(style->source, style->format, &options, &sink);
    int flushed = sink_flush(&sink);
    *bytes = sink.total;
    return error != 0 ? error : flushed;
}

/* The file is complete: gives it its name. If a name chosen by the style is taken, it is from an
 * earlier process, and the next one is tried. gperftools' names are meant to be reused. */
static int finish(const struct dump_style *style, enum dump_reason reason, bool named,
                  const struct dump_moment *moment)
{
    bool replace = named || style->names == DUMP_NAMES_GPERFTOOLS;
    int error = dump_file_finish(dump_last_name, replace);
    for (int i = 0; i < NAME_TRIES && error == EEXIST && !replace; i++) {
        if (!dump_name_next(dump_last_name, style, reason, moment))
            break;
        error = dump_file_finish(dump_last_name, replace);
    }
    if (error == EEXIST && !replace)
        dump_file_abandon();
    return error;
}

static int write_named(const struct dump_style *style, enum dump_reason reason, bool named,
                       const char *words, const struct dump_moment *moment)
{
    if (!named && !(cleaned & 1u << style->names)) {
        cleaned |= 1u << style->names;
        dump_file_clean(dump_last_name);
    }
    uint64_t bytes = 0;
    bool stream = named && os_file_at(dump_last_name) == OS_FILE_STREAM;
    int fd = stream ? dump_file_open_stream(dump_last_name) : dump_file_open(dump_last_name);
    if (fd < 0)
        return -fd;
    int error = write_profile(style, fd, words, &bytes);
    if (error != 0)
        dump_file_abandon();
    else
        error = finish(style, reason, named, moment);
    if (error == 0 && !named)
        dump_file_keep(style->names, dump_last_name, bytes, style->keep, style->keep_bytes);
    return error;
}

/* The reason in words, if the caller gave none. gperftools says how long ago the last dump was. */
static const char *words_of(const struct dump_style *style, enum dump_reason reason,
                            const struct totals_now *now)
{
    struct print text;
    print_start(&text, reason_text, sizeof reason_text);
    if (reason == DUMP_TIME && style->announce)
        print_format(&text, "%lu sec since the last dump", (os_now_ms() - last_ms) / 1000);
    else
        dump_name_reason(&text, reason, now);
    return print_string(&text);
}

static const struct dump_style of_capture = {.names = DUMP_NAMES_CAPTURE};
static const struct dump_style of_recorder = {.names = DUMP_NAMES_RECORDER};

/* A process that changed its user may not write to the folder of `memoir run`, which then makes the
 * capture from the recorder file. Where there is no recorder file either, another message has said
 * so. */
static int complain_of_capture(int error)
{
    if ((error == EACCES || error == EPERM) && config.recorder_run)
        return error;
    return complain(&of_capture, DUMP_CALL, capture_file_name(), false, error);
}

int dump_complain_of_capture(int error)
{
    return error == 0 || error == ENOENT ? error : complain_of_capture(error);
}

int dump_complain_of_recorder(int error)
{
    return error == 0 ? 0 : complain(&of_recorder, DUMP_CALL, recorder_file_name(), false, error);
}

/* Writes a snapshot to the capture. An error is reported each time, as it ends the capture. */
static int snapshot(enum dump_reason reason, const char *words)
{
    int error = reason == DUMP_TIME && !capture_file_due()
                    ? 0
                    : capture_file_snapshot(words, reason == DUMP_EXIT);
    return dump_complain_of_capture(error);
}

int dump_write_locked(const struct dump_style *style, enum dump_reason reason, const char *path,
                      const char *words, const struct totals_now *now)
{
    struct dump_moment moment = {(int64_t)(os_wall_ns() / 1000000000), now->live, os_pid()};
    struct print text;
    threads_keep_names();
    bool fits = true;
    words = words == NULL ? words_of(style, reason, now) : words;
    if (style->names == DUMP_NAMES_CAPTURE)
        return snapshot(reason, words);
    if (path == NULL) {
        fits = dump_name_next(dump_last_name, style, reason, &moment);
    } else {
        print_start(&text, dump_last_name, sizeof dump_last_name);
        print_text(&text, path);
        print_string(&text);
        fits = !text.cut;
    }
    announce(style, dump_last_name, words);
    int error = fits ? write_named(style, reason, path != NULL, words, &moment) : ENAMETOOLONG;
    if (error != 0)
        return complain(style, reason, dump_last_name, path != NULL, error);
    add_relaxed(&written, 1);
    store_relaxed(&last_error, 0);
    last_ms = os_now_ms();
    tell_later(style);
    return 0;
}

int dump_write(const struct dump_style *style, enum dump_reason reason, const char *path,
               const char *words, char *name)
{
    if (name != NULL)
        name[0] = '\0';
    if (!dump_lock(waits(reason))) {
        int error = dump_lock_error();
        return error == EBUSY ? error
                              : complain(style, reason, path == NULL ? style->prefix : path,
                                         path != NULL, error);
    }
    struct totals_now now = totals_now();
    int error = dump_write_locked(style, reason, path, words, &now);
    if (name != NULL)
        memcpy(name, dump_last_name, sizeof dump_last_name);
    dump_unlock_and_look();
    return error;
}

int dump_to_fd(const struct dump_style *style, enum dump_reason reason, int fd)
{
    if (!dump_lock(waits(reason)))
        return dump_lock_error();
    uint64_t bytes = 0;
    int error = write_profile(style, fd, dump_name_word(reason), &bytes);
    if (error == 0)
        add_relaxed(&written, 1);
    dump_unlock_and_look();
    if (error != 0 && reason == DUMP_OUTSIDE) /* the client gets the error */
        __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
    else if (error != 0)
        complain(style, reason, "to a descriptor", true, error);
    return error;
}

int dump_try(const char *path, char *whole)
{
    enum { PID_ROOM = 16 }; /* callers append it in a forked child */
    if (!dump_lock(true))
        return dump_lock_error();
    int error = strlen(path) < DUMP_NAME_SIZE ? dump_file_refused(os_file_at(path)) : ENAMETOOLONG;
    if (error == 0) {
        int fd = dump_file_open(path);
        error = fd < 0 ? -fd : 0;
        dump_file_abandon();
    }
    if (error == 0 && !dump_name_whole(whole, DUMP_NAME_SIZE - PID_ROOM, path))
        memcpy(whole, path, strlen(path) + 1);
    dump_unlock_and_look();
    return error;
}

int dump_capture(const char *path)
{
    if (!dump_lock(true))
        return dump_lock_error();
    int error = capture_file_begin(path);
    if (error != 0)
        complain_of_capture(error);
    dump_unlock_and_look();
    return error;
}

int dump_capture_fd(int fd, char *name)
{
    if (!dump_lock(true))
        return dump_lock_error();
    int error = capture_file_adopt(fd);
    memcpy(name, capture_file_name(), DUMP_NAME_SIZE);
    if (error == 0) {
        recorder_file_keep(); /* it may be killed */
        error = capture_file_snapshot("record", false);
    }
    dump_unlock_and_look();
    return error;
}

int dump_capture_stop(const struct dump_style *style)
{
    if (!dump_lock(true))
        return dump_lock_error();
    bool adopted = capture_file_adopted();
    if (adopted) /* first: nothing is to be added to a capture that is complete */
        recorder_file_capture(NULL);
    struct totals_now now = totals_now();
    int error = dump_write_locked(style, DUMP_EXIT, NULL, "record stop", &now);
    if (adopted)
        capture_file_stopped();
    dump_unlock_and_look();
    return error;
}

int dump_mark(const char *name)
{
    if (!dump_lock(true))
        return dump_lock_error();
    int error = dump_complain_of_capture(capture_file_mark(name));
    dump_unlock_and_look();
    return error;
}
