/* SPDX-License-Identifier: MIT */
/*
 * See tool/terminal/progress.h. A thread looks at the clock, so that the code that works need not:
 * an update is a store under a lock, and drawing happens ten times a second whatever the rate of
 * updates. The line is erased before anything else is printed on standard error (`progress_end`).
 */
#include "tool/terminal/progress.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/terminal/screen.h"
#include "tool/terminal/style.h"

enum {
    FIRST_MS = 300,       /* what is quicker shows nothing */
    AGAIN_MS = 100,       /* on a terminal; */
    AGAIN_LOG_MS = 10000, /* elsewhere each time is a line of a log */
    BAR = 10,
    NAME_MIN = 8,
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool runs, shown;
    char phase[32], what[256];
    uint64_t done, all;
    int64_t start_ms, next_ms;
    bool (*ask)(const char **phase, uint64_t *done, uint64_t *all);
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void text_set(char *to, size_t size, const char *text);
static int64_t now_ms(void);
static void *watch(void *nothing);
static void ask_locked(int64_t now);
static void line_show_locked(int64_t now, bool tty);
static void line_make_locked(char *line, size_t size, int64_t now, unsigned width);
static void bar_write(char *text, size_t size, int filled);

void progress_start(const char *phase, const char *what)
{
    if (terminal_is_quiet())
        return;
    progress_end();
    text_set(progress.phase, sizeof progress.phase, phase);
    text_set(progress.what, sizeof progress.what, what);
    progress.done = progress.all = 0;
    progress.ask = NULL;
    progress.shown = false;
    progress.start_ms = now_ms();
    progress.next_ms = progress.start_ms + (isatty(2) ? FIRST_MS : AGAIN_LOG_MS);
    progress.runs = pthread_cond_init(&progress.changed, NULL) == 0;
    if (progress.runs && pthread_create(&progress.thread, NULL, watch, NULL) != 0)
        progress.runs = false;
}

static void text_set(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
    terminal_clean(to, strlen(to));
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *watch(void *nothing)
{
    bool tty = isatty(2);
    (void)nothing;
    pthread_mutex_lock(&progress.lock);
    while (progress.runs) {
        int64_t now = now_ms();
        ask_locked(now);
        if (now >= progress.next_ms) {
            line_show_locked(now, tty);
            progress.next_ms = now + (tty ? AGAIN_MS : AGAIN_LOG_MS);
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        int64_t wait_ns = (progress.next_ms - now) * 1000000 + until.tv_nsec;
        until.tv_sec += wait_ns / 1000000000;
        until.tv_nsec = wait_ns % 1000000000;
        pthread_cond_timedwait(&progress.changed, &progress.lock, &until);
    }
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

/* What the function says, if there is one; another phase begins to count anew. */
static void ask_locked(int64_t now)
{
    const char *phase = NULL;
    if (!progress.ask)
        return;
    if (!progress.ask(&phase, &progress.done, &progress.all))
        progress.all = 0;
    else if (strcmp(phase, progress.phase) != 0) {
        text_set(progress.phase, sizeof progress.phase, phase);
        progress.start_ms = now;
    }
}

static void line_show_locked(int64_t now, bool tty)
{
    char line[512];
    unsigned width = terminal_error_width();
    line_make_locked(line, sizeof line, now, width > 1 ? width - 1 : UINT_MAX);
    if (tty)
        fprintf(stderr, "\r\033[K%s", line);
    else
        fprintf(stderr, "memoir: %s\n", line);
    fflush(stderr);
    progress.shown = true;
}

/* symbols  libxul.so  [██████░░░░] 61 %  2 s left; the name is what gives way to the rest */
static void line_make_locked(char *line, size_t size, int64_t now, unsigned width)
{
    char rest[128] = "", bar[64], name[sizeof progress.what];
    if (progress.all > 0) {
        uint64_t done = progress.done < progress.all ? progress.done : progress.all;
        int64_t spent = now - progress.start_ms;
        int64_t left = done > 0 ? spent * (int64_t)(progress.all - done) / (int64_t)done : 0;
        bar_write(bar, sizeof bar, (int)(done * BAR / progress.all));
        int length =
            snprintf(rest, sizeof rest, "  [%s] %d %%", bar, (int)(done * 100 / progress.all));
        if (left >= 1000)
            snprintf(rest + length, sizeof rest - (size_t)length, "  %ld s left",
                     (long)(left / 1000));
    }
    unsigned used = style_columns(progress.phase) + 2 + style_columns(rest);
    unsigned room = width > used + NAME_MIN ? width - used : NAME_MIN;
    snprintf(line, size, "%s  %s%s", progress.phase,
             style_name(name, sizeof name, progress.what, room), rest);
}

/* Filled cells of the bar and empty ones. */
static void bar_write(char *text, size_t size, int filled)
{
    const char *on = terminal_utf8() ? "█" : "#", *off = terminal_utf8() ? "░" : ".";
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < BAR && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s", i < filled ? on : off);
}

void progress_update(const char *what, uint64_t done, uint64_t all)
{
    if (!progress.runs)
        return;
    pthread_mutex_lock(&progress.lock);
    if (what)
        text_set(progress.what, sizeof progress.what, what);
    progress.done = done;
    progress.all = all;
    pthread_mutex_unlock(&progress.lock);
}

void progress_ask(bool (*ask)(const char **phase, uint64_t *done, uint64_t *all))
{
    if (!progress.runs)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.ask = ask;
    pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
    if (!progress.runs)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.runs = false;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    if (progress.shown && isatty(2))
        fputs("\r\033[K", stderr);
}
