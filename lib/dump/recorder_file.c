/* SPDX-License-Identifier: MIT */
/*
 * See lib/dump/recorder_file.h. The file is made at the start of the process, or at the first
 * recorded event of a forked child; lib/watch/mirror.c fills its rows while the program runs, and
 * what changes seldom (mappings, names of threads) is looked at here now and then.
 */
#include "lib/dump/recorder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arch.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/file/capture_format.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_file.h"
#include "lib/dump/dump_name.h"
#include "lib/dump/recorder_ahead.h"
#include "lib/dump/recorder_kept.h"
#include "lib/dump/recorder_paths.h"
#include "lib/dump/style.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { MODE = 0600, BUFFER_SIZE = 4 << 10 }; /* static; only texts of some KiB pass through it */
enum { NAMES_MAX = 1000 }; /* tried: of earlier processes with this number, and before each exec */
enum { LOOK_MS = 50 };     /* between two readings of what is loaded, while new code appears */
enum { CHILD_MS = 20 };    /* until then most children start another program */

static BULK struct capture records;
static struct sink sink;
static BULK char buffer[BUFFER_SIZE];
static BULK char asked[RECORDER_PATH]; /* from the root on */
static bool wanted; /* `asked` and `kept` are complete: another thread may fork at any time */
static BULK char name[RECORDER_PATH];
static int fd = -1;
static struct os_file_id id;  /* of what `fd` was when it was opened */
static bool child;            /* of a fork, and without a file */
static pid_t process, parent; /* of that fork; 0: of none */
static BULK struct recorder_told told[RECORDER_TOLD_COUNT];
static uint64_t looked_ms; /* when the mappings were last looked at */
static bool kept;          /* made by `recorder_file_keep` */

const char *recorder_file_name(void)
{
    return name;
}

/* A word of the file, of which the second is in brackets and may hold anything. 0: not known. */
enum { STAT_BRACKET = 2, STAT_PARENT = 4, STAT_SESSION = 6, STAT_START = 22 };
static uint64_t stat_word(unsigned number)
{
    char text[1024] = "";
    unsigned word = STAT_BRACKET;
    int stat = os_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (stat < 0)
        return 0;
    ssize_t got = os_read(stat, text, sizeof text - 1), at = got;
    os_close(stat);
    while (at > 0 && text[at - 1] != ')')
        at--;
    for (; at > 0 && at < got && word < number; at++)
        word += text[at] == ' ';
    return at > 0 ? text_number(text + at, 10) : 0;
}

static uint64_t start_ticks(void)
{
    return stat_word(STAT_START);
}

/* PATH, PATH-PID, PATH-PID-2, ... : what exists is another process's, or this one's before it
 * started another program. */
static int create(void)
{
    int got = -EEXIST;
    if (kept) { /* the user may be another one than that of the parent */
        kept_sweep();
        kept_name(asked, sizeof asked);
    }
    for (unsigned i = child && !kept ? 1 : 0; i < NAMES_MAX && got == -EEXIST; i++) {
        struct print text;
        print_start(&text, name, sizeof name);
        print_text(&text, asked);
        if (i > 0)
            print_format(&text, "-%d", (int)os_pid());
        if (i > 1)
            print_format(&text, "-%u", i);
        print_string(&text);
        if (kept)
            kept_remove_own(name, start_ticks());
        got = text.cut
                  ? -ENAMETOOLONG
                  : os_open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                            MODE);
    }
    return got;
}

static void let_go(void)
{
    if (!confined(CONFINE_FILES) && os_file_is(fd, id))
        os_close(fd);
    fd = -1;
}

static void head_fill(struct recorder_head *head)
{
    head->version = RECORDER_VERSION;
    head->machine = ARCH_MACHINE;
    head->sheet_bytes = RECORDER_SHEET;
    head->pid = (uint32_t)os_pid();
    head->start_ticks = start_ticks();
    head->start_ms = head->last_ms = os_now_ms();
    head->start_wall_ns = os_wall_ns();
    head->state = (child ? RECORDER_CHILD : 0) | (kept ? RECORDER_KEPT : 0);
    if (capture_file_open())
        dump_name_whole(head->capture, sizeof head->capture, capture_file_name());
    memcpy(head->told, told, sizeof told);
    memcpy(head->magic, RECORDER_MAGIC, sizeof head->magic);
}

static int log_write(void *context, const void *bytes, size_t length)
{
    (void)context;
    return mirror_log(bytes, length) ? 0 : ENOSPC;
}

/* What may fail comes before other threads see the file. */
static int fill(void)
{
    head_fill(mirror_opened());
    sink_to_function(&sink, log_write, NULL, buffer, sizeof buffer);
    capture_log_begin(&records, &sink);
    int error = capture_log_maps(&records);
    if (error != 0)
        return error;
    paths_write(name, mirror_opened());
    mirror_show();
    counts_copy();
    track_copy();
    cpu_copy();
    waits_copy();
    heap_interrupt(NULL); /* clocks that were set before may run for long */
    __atomic_fetch_or(&mirror_head()->state, RECORDER_READY, __ATOMIC_RELEASE);
    return 0;
}

static int fd_again(void)
{
    fd = confined(CONFINE_FILES) ? -1 : os_open_again(name, O_RDWR, id);
    if (fd >= 0)
        os_lock_for_process(fd);
    return fd;
}

static int begin(void)
{
    if (confined(CONFINE_GROW))
        return ENOSYS;
    process = os_pid();
    int got = create();
    if (got >= 0) {
        fd = os_move_up(got);
        os_lock_for_process(fd);
    } else if (kept || (fd = ahead_take(name, sizeof name)) < 0) {
        return -got;
    }
    id = os_file_id(fd);
    uint64_t max =
        kept && config.recorder_memory > KEPT_BYTES ? KEPT_BYTES : config.recorder_memory;
    int error = os_file_copies(fd) ? ENOTSUP : mirror_open(fd, fd_again, max, kept);
    if (error == 0)
        error = fill();
    if (error != 0) {
        mirror_forget();
        paths_remove(name);
        os_unlink(name);
        let_go();
    }
    return error;
}

int recorder_file_begin(const char *path)
{
    if (os_secure())
        return 0;
    store_release(&wanted, false);
    kept = false;
    store_release(&wanted, dump_name_whole(asked, sizeof asked, path));
    int error = wanted ? begin() : ENAMETOOLONG;
    if (error != 0)
        wanted = false;
    else
        series_resident(true);
    return error;
}

void recorder_file_keep(void)
{
    if (wanted || !config.recorder_end || os_secure())
        return;
    kept = true; /* so that `create` writes the name */
    store_release(&wanted, true);
    if (begin() == 0)
        return;
    wanted = false;
    kept = false;
}

void recorder_file_objects(void)
{
    if (!mirror_on())
        return;
    store_release(&mirror_code_new, true);
    store_relaxed(&totals_due, true);
    looked_ms = 0;
}

/* Programs that make code all the time are looked at now and then. */
static void objects_look(void)
{
    uint64_t now_ms = os_now_ms();
    if (!load_acquire(&mirror_code_new) || now_ms - looked_ms < LOOK_MS)
        return;
    looked_ms = now_ms;
    capture_log_maps(&records); /* a full file has said so */
}

bool recorder_file_waits(void)
{
    return wanted && child;
}

int recorder_file_now(void)
{
    if (!child)
        return 0;
    int error = begin();
    child = false;
    store_relaxed(&mirror_child, false);
    if (error != 0) {
        wanted = false;
        mirror_forget(); /* no event asks for a file any more */
    }
    return error;
}

/* A daemon leads a session, or has outlived its parent. Without /proc that is not known. */
static bool is_daemon(void)
{
    uint64_t now = stat_word(STAT_PARENT);
    return stat_word(STAT_SESSION) == (uint64_t)process || (now != 0 && now != (uint64_t)parent);
}

/* A daemon may sleep for good. Other children are decided on in their first sleep that lasts until
 * the 20 ms are over: one that serves a short request has ended by then. What one that has no file
 * yet records later asks for it. */
int recorder_file_sleep(void)
{
    bool late = os_now_ms() >= load_relaxed(&mirror_due_ms);
    if ((late && load_relaxed(&mirror_missed) != 0) || is_daemon())
        return recorder_file_now();
    if (late)
        store_relaxed(&mirror_child, false);
    return 0;
}

int recorder_file_look(void)
{
    store_relaxed(&mirror_asked, false);
    if (!wanted || (child && os_now_ms() < load_relaxed(&mirror_due_ms)))
        return 0;
    if (child)
        return recorder_file_now();
    if (mirror_on())
        objects_look();
    return 0;
}

void recorder_file_mark(const char *mark, const struct account_sum *total)
{
    if (!mirror_on())
        return;
    capture_mark(&records, mark, total);
    store_relaxed(&mirror_head()->last_ms, os_now_ms());
}

void recorder_file_capture(const char *path)
{
    if (!mirror_on())
        return;
    store_relaxed(&mirror_head()->last_ms, os_now_ms()); /* not before the capture began */
    if (path == NULL)
        mirror_head()->capture[0] = '\0';
    else
        dump_name_whole(mirror_head()->capture, sizeof mirror_head()->capture, path);
    paths_write(name, mirror_head());
}

void recorder_file_told(unsigned which, const struct dump_style *style, const char *path)
{
    char prefix[RECORDER_TOLD_PATH / 2];
    struct recorder_told *it = &told[which];
    struct print text;
    it->format = RECORDER_FORMAT_NONE;
    print_start(&text, prefix, sizeof prefix);
    if (style != NULL && path == NULL)
        dump_name_prefix(&text, style);
    else if (path != NULL)
        print_text(&text, path);
    print_string(&text);
    if (style != NULL && !text.cut && dump_name_whole(it->path, sizeof it->path, prefix)) {
        it->flags =
            style->options.accum * RECORDER_TOLD_ACCUM + style->options.raw * RECORDER_TOLD_RAW;
        it->owner = (uint32_t)style->owner;
        it->space = style->pid_namespace ? dump_name_space() : 0;
        it->format = (uint32_t)style->format + 1;
    }
    if (!mirror_on())
        return;
    struct recorder_told *copy = &mirror_head()->told[which];
    store_release(&copy->format, RECORDER_FORMAT_NONE);
    if (it->format != RECORDER_FORMAT_NONE) {
        memcpy(copy->path, it->path, sizeof copy->path);
        copy->flags = it->flags;
        copy->owner = it->owner;
        copy->space = it->space;
        store_release(&copy->format, it->format);
    }
    paths_write(name, mirror_head());
}

bool recorder_file_leave(void)
{
    return wanted && !kept && config.recorder_run && ahead_make(asked);
}

void recorder_file_end(void)
{
    if (!mirror_on())
        return;
    store_relaxed(&mirror_head()->last_ms, os_now_ms());
    __atomic_fetch_or(&mirror_head()->state, RECORDER_ENDED, __ATOMIC_RELEASE);
    if (kept || (capture_file_complete() && !capture_file_beside())) {
        paths_remove(name);
        os_unlink(name);
    }
}

static bool is_told(void)
{
    bool any = false;
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++)
        any |= told[i].format != RECORDER_FORMAT_NONE;
    return any;
}

void recorder_file_forked(void)
{
    if (!load_acquire(&wanted))
        return;
    mirror_forget();
    let_go();
    if (kept && !is_told()) { /* the parent's was for a capture that it does not go on with */
        wanted = kept = child = false;
        store_relaxed(&mirror_child, false);
        return;
    }
    child = true;
    parent = process;
    process = os_pid();
    store_relaxed(&mirror_child, true);
    store_relaxed(&mirror_due_ms, os_now_ms() + CHILD_MS);
    store_relaxed(&mirror_missed, 0);
    store_relaxed(&mirror_wanted, true);
}
