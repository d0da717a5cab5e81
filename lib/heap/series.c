/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/series.h. One thread at a time adds a point; a reader copies them all. What of the
 * process is in memory is read from the kernel's files, without stdio.
 */
#include "lib/heap/series.h"

#include <fcntl.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/words.h"
#include "lib/watch/watch.h"

enum {
    INTERVAL_FIRST_MS = 10, /* so that 1,024 points cover the first 10 seconds */
    PATIENCE_MS = 1000,     /* of a reader */
};

static BULK_FIRST struct series_point points[SERIES_MAX];
static unsigned count;
static uint64_t interval_ms = INTERVAL_FIRST_MS, next_ms;
static uint32_t busy; /* 1 while a thread adds a point */
static bool resident;

bool series_due(uint64_t now_ms)
{
    return now_ms >= load_relaxed(&next_ms);
}

void series_resident(bool wanted)
{
    store_relaxed(&resident, wanted);
}

/* Resident bytes of the process: the second number of /proc/self/statm, in pages. */
static uint64_t resident_bytes(void)
{
    char text[64] = "";
    int fd = os_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    os_read(fd, text, sizeof text - 1);
    os_close(fd);
    const char *second = text + text_until(text, ' ');
    return *second == '\0' ? 0 : text_number(second + 1, 10) * os_page_size();
}

/* The number of the line that begins with `name`, which is in KiB, in bytes; 0 if there is none. */
static uint64_t bytes_of(const char *text, const char *name)
{
    size_t fits = 0;
    while (*text != '\0' && name[fits] != '\0') {
        fits = *text == name[fits] ? fits + 1 : 0;
        text++;
    }
    while (*text == ' ' || *text == '\t')
        text++;
    return text_number(text, 10) * 1024;
}

void series_memory_now(struct series_memory *now)
{
    char text[2048] = ""; /* the lines are among the first thirty of the file */
    int fd = os_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        os_read(fd, text, sizeof text - 1);
        os_close(fd);
    }
    *now = (struct series_memory){bytes_of(text, "VmHWM:"), bytes_of(text, "RssAnon:"),
                                  bytes_of(text, "RssFile:"), bytes_of(text, "RssShmem:")};
}

_Static_assert(sizeof(struct series_point) == sizeof(struct recorder_point) &&
                   (int)SERIES_MAX == (int)RECORDER_POINTS,
               "a point of the recorder file is one of these");

/* One point into the recorder file, or all of them into its other half. */
static void points_copy(bool all)
{
    if (!mirror_on() || count == 0)
        return;
    struct recorder_head *head = mirror_head();
    uint64_t now = load_relaxed(&head->series_now), half = (now >> 32 ^ all) & 1;
    for (unsigned i = all ? 0 : count - 1; i < count; i++) {
        struct series_point *to =
            mirror_row_make(SHEET_SERIES, (uint32_t)half * RECORDER_POINTS + i);
        if (to == NULL)
            return;
        *to = points[i];
    }
    store_release(&head->series_now, half << 32 | count);
}

void series_copy(void)
{
    if (!turn_take(&busy))
        return;
    points_copy(true);
    turn_give(&busy);
}

void series_add(const struct series_point *point)
{
    if (!turn_take(&busy))
        return;
    bool halved = count == SERIES_MAX;
    if (count > 0 && points[count - 1].time_ms == point->time_ms) {
        uint64_t before = points[count - 1].resident_bytes;
        points[count - 1] = *point;
        points[count - 1].resident_bytes = before;
        points_copy(false);
        turn_give(&busy);
        return;
    }
    if (count == SERIES_MAX) {
        for (unsigned i = 0; i < SERIES_MAX / 2; i++)
            points[i] = points[2 * i + 1];
        count = SERIES_MAX / 2;
        interval_ms *= 2;
    }
    points[count] = *point;
    if (load_relaxed(&resident) && !confined(CONFINE_OPEN))
        points[count].resident_bytes = resident_bytes();
    store_release(&count, count + 1);
    store_relaxed(&next_ms, point->time_ms + interval_ms);
    points_copy(halved);
    turn_give(&busy);
}

unsigned series_points(struct series_point copy[SERIES_MAX])
{
    unsigned got = 0;
    if (!turn_wait(&busy, PATIENCE_MS))
        return 0;
    for (; got < count; got++)
        copy[got] = points[got];
    turn_give(&busy);
    return got;
}

void series_recover(void)
{
    busy = 0;
}

void series_abandoned(void)
{
    turn_abandon(&busy);
}
