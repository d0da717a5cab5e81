/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/mirror.h. The file grows sheet by sheet: space first, so that no store into the
 * mapping can meet a full disk, then the mapping, then the directory. Addresses for the longest
 * file are reserved at the start, and sheets lie there in the order of the file.
 */
#include "lib/watch/mirror.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/confine.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"

enum {
    LIMITED_SHARE = 32, /* of a limited address space, one in this many bytes */
    PATIENCE_MS = 4000, /* a row that is needed now waits for the thread that adds a sheet */
};

char *mirror_base;
bool mirror_wanted;
uint64_t mirror_due_ms;
uint64_t mirror_missed;
bool mirror_child;
bool mirror_asked;
BULK uint16_t mirror_sheets[SHEET_KINDS][MIRROR_SHEETS];

static char *place;                /* what is reserved */
static uint32_t count;             /* sheets of the file, */
static uint32_t count_max;         /* and how many there may be */
static uint32_t used[SHEET_KINDS]; /* entries of `mirror_sheets` */
static int file = -1;
static struct os_file_id id; /* of what `file` was when it was opened */
static int (*reopen)(void);  /* its descriptor again, or a negative number */
static uint32_t busy;        /* a turn: a sheet is being added */
static bool silent;          /* nothing is said when it is full */
static bool limited;         /* `count_max` is what the limit of addresses leaves */

static bool make(enum sheet_kind kind, uint32_t at, bool wait);
static int sheet_add(void);
static bool file_is_there(void);
static uint32_t *directory(void);
static NOINLINE void tell_full(int error);

void mirror_range(uintptr_t *start, uintptr_t *end)
{
    *start = (uintptr_t)load_relaxed(&mirror_base);
    *end = *start == 0 ? 0 : *start + (uintptr_t)count_max * RECORDER_SHEET;
}

void *mirror_row_make(enum sheet_kind kind, uint32_t number)
{
    void *row = mirror_row(kind, number);
    if (row == NULL && make(kind, number / (uint32_t)RECORDER_ROWS(kind), true))
        row = mirror_row(kind, number);
    return row;
}

static bool make(enum sheet_kind kind, uint32_t at, bool wait)
{
    if (at >= MIRROR_SHEETS ||
        (load_relaxed(&((struct recorder_head *)place)->state) & RECORDER_FULL) != 0 ||
        !(wait ? turn_wait(&busy, PATIENCE_MS) : turn_take(&busy)))
        return false;
    int error = mirror_sheets[kind][at] != 0 ? 0 : sheet_add();
    if (error == 0 && mirror_sheets[kind][at] == 0) {
        store_release(&directory()[count - 1], (uint32_t)kind | at << 8);
        store_release(&mirror_sheets[kind][at], (uint16_t)(count - 1));
        used[kind] = at < used[kind] ? used[kind] : at + 1;
    }
    turn_give(&busy);
    if (error != 0 && mirror_on()) /* else the caller says that there is no file */
        tell_full(error);
    return error == 0;
}

/* One more sheet of the file; 0 or an errno value. */
static int sheet_add(void)
{
    uint64_t from = (uint64_t)count * RECORDER_SHEET;
    if (count == count_max)
        return ENOMEM;
    if (confined(CONFINE_GROW))
        return ENOSYS;
    if (!file_is_there())
        return EBADF;
    int error = os_file_grow(file, from, from + RECORDER_SHEET);
    if (error != 0)
        return -error;
    if (!os_map_file(place + from, RECORDER_SHEET, file, from))
        return ENOMEM;
    count++;
    return 0;
}

/* A program that closes descriptors which it does not know, as daemons do, may open a file of its
 * own under the same number: that must not grow, nor be mapped. */
static bool file_is_there(void)
{
    if (!os_file_is(file, id))
        file = reopen();
    return file >= 0;
}

static uint32_t *directory(void)
{
    return (uint32_t *)(place + RECORDER_DIRECTORY);
}

static NOINLINE void tell_full(int error)
{
    char buffer[200];
    struct print line;
    uint32_t before =
        __atomic_fetch_or(&((struct recorder_head *)place)->state, RECORDER_FULL, __ATOMIC_RELAXED);
    if ((before & RECORDER_FULL) || silent)
        return;
    print_start(&line, buffer, sizeof buffer);
    print_text(&line, "memoir: the recorder file is full, new stacks are missing in it; ");
    print_text(&line, error == EFBIG    ? "raise the limit on the size of files (ulimit -f)"
                      : error == ENOSPC ? "make space, or choose another folder"
                      : error == EBADF  ? "the program has closed its descriptor"
                      : error == ENOSYS ? "the program's seccomp filter would end it for more"
                      : limited         ? "raise the limit of addresses (ulimit -v)"
                                        : "raise recorder.memory");
    print_char(&line, '\n');
    message_flush(&line);
}

void *mirror_row_try(enum sheet_kind kind, uint32_t number)
{
    void *row = mirror_row(kind, number);
    if (row == NULL && make(kind, number / (uint32_t)RECORDER_ROWS(kind), false))
        row = mirror_row(kind, number);
    return row;
}

bool mirror_log(const void *bytes, size_t length)
{
    struct recorder_head *head = (struct recorder_head *)place;
    uint64_t at = head->log_length;
    for (uint64_t sheet = at / RECORDER_SHEET; sheet <= (at + length) / RECORDER_SHEET; sheet++)
        if (sheet >= MIRROR_SHEETS ||
            (mirror_sheets[SHEET_LOG][sheet] == 0 && !make(SHEET_LOG, (uint32_t)sheet, true)))
            return false;
    for (size_t done = 0; done < length;) {
        uint64_t to = at + done;
        size_t inside = to % RECORDER_SHEET, more = RECORDER_SHEET - inside;
        more = more < length - done ? more : length - done;
        memcpy(place + (size_t)mirror_sheets[SHEET_LOG][to / RECORDER_SHEET] * RECORDER_SHEET +
                   inside,
               (const char *)bytes + done, more);
        done += more;
    }
    store_release(&head->log_length, at + length);
    return true;
}

/* Where addresses are limited, most of them are left to the program. */
static uint64_t allowed(uint64_t bytes)
{
    uint64_t limit = os_limit(RLIMIT_AS) / LIMITED_SHARE;
    limited |= limit < bytes;
    return limit < bytes ? limit : bytes;
}

int mirror_open(int fd, int (*again)(void), uint64_t bytes, bool quiet)
{
    mirror_forget();
    count_max = (uint32_t)(allowed(bytes) / RECORDER_SHEET);
    count_max = count_max < RECORDER_SHEETS ? count_max : RECORDER_SHEETS;
    place = os_reserve((size_t)count_max * RECORDER_SHEET);
    if (place == NULL || count_max == 0)
        return ENOMEM;
    file = fd;
    id = os_file_id(fd);
    reopen = again;
    silent = quiet;
    return sheet_add();
}

bool mirror_yield(void)
{
    if (!mirror_on() || confined(CONFINE_GROW) || !turn_take(&busy))
        return false;
    uint32_t kept = (uint32_t)(allowed((uint64_t)count_max * RECORDER_SHEET) / RECORDER_SHEET);
    kept = kept > count ? kept : count;
    bool yields = kept < count_max;
    if (yields) {
        os_unmap(place + (size_t)kept * RECORDER_SHEET,
                 (size_t)(count_max - kept) * RECORDER_SHEET);
        count_max = kept;
    }
    turn_give(&busy);
    return yields;
}

struct recorder_head *mirror_opened(void)
{
    return (struct recorder_head *)place;
}

void mirror_show(void)
{
    store_release(&mirror_base, place);
    store_relaxed(&mirror_wanted, true);
}

/* A handler may have forked and come back to a store of an interrupted call: it goes to memory that
 * nothing reads. */
void mirror_forget(void)
{
    store_release(&mirror_base, NULL);
    store_relaxed(&mirror_wanted, false);
    for (unsigned kind = 0; kind < SHEET_KINDS; kind++) {
        memset(mirror_sheets[kind], 0, used[kind] * sizeof mirror_sheets[kind][0]);
        used[kind] = 0;
    }
    if (count > 0)
        os_map_over(place, (size_t)count * RECORDER_SHEET);
    if (place != NULL && count < count_max)
        os_unmap(place + (size_t)count * RECORDER_SHEET,
                 (size_t)(count_max - count) * RECORDER_SHEET);
    place = NULL;
    count = count_max = 0;
    file = -1;
    busy = 0;
}

/* ---- code ---- */

/* Ranges of loaded code, two tables of 8 KiB; beyond that all addresses count as known. */
enum { CODE_MAX = 512 };

struct code {
    unsigned count;
    struct {
        uintptr_t start, end;
    } ranges[CODE_MAX];
};

static BULK struct code codes[2]; /* one that counts, one that is being made */
static unsigned code_now;
bool mirror_code_new;

void mirror_code_begin(void)
{
    codes[!code_now].count = 0;
}

void mirror_code_add(uintptr_t start, uintptr_t end)
{
    struct code *code = &codes[!code_now];
    if (code->count > 0 && code->ranges[code->count - 1].end == start)
        code->ranges[code->count - 1].end = end;
    else if (code->count < CODE_MAX) {
        code->ranges[code->count].start = start;
        code->ranges[code->count++].end = end;
    } else { /* too many to tell */
        code->ranges[CODE_MAX - 1].start = 0;
        code->ranges[CODE_MAX - 1].end = UINTPTR_MAX;
    }
}

void mirror_code_end(void)
{
    store_release(&code_now, !code_now);
}

bool mirror_code_has(uintptr_t pc)
{
    const struct code *code = &codes[load_acquire(&code_now)];
    for (unsigned i = 0; i < code->count; i++)
        if (pc - code->ranges[i].start <= code->ranges[i].end - code->ranges[i].start)
            return true;
    return false;
}

void mirror_abandoned(void)
{
    turn_abandon(&busy);
}
