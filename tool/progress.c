/* SPDX-License-Identifier: MIT */
/* See tool/progress.h. A thread looks at the clock, so that who works need not. */
#include "tool/progress.h"

#include "tool/terminal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 300, AGAIN_MS = 100, AGAIN_LOG_MS = 10000, BAR = 10 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool runs, shown;
    char phase[32], what[256];
    uint64_t done, all;
    int64_t start_ms, next_ms;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* symbols  libxul.so  [######....] 61 %  2 s left */
static void line_show_locked(int64_t now, bool tty)
{
    char line[512];
    int length = snprintf(line, sizeof line, "%s  %s", progress.phase, progress.what);
    if (progress.all > 0 && length > 0 && length < 300) {
        uint64_t done = progress.done < progress.all ? progress.done : progress.all;
        int filled = (int)(done * BAR / progress.all);
        length +=
            snprintf(line + length, sizeof line - (size_t)length, "  [%.*s%.*s] %d %%", filled,
                     "##########", BAR - filled, "..........", (int)(done * 100 / progress.all));
        int64_t spent = now - progress.start_ms;
        int64_t left = done > 0 ? spent * (int64_t)(progress.all - done) / (int64_t)done : 0;
        if (left >= 1000)
            snprintf(line + length, sizeof line - (size_t)length, "  %ld s left",
                     (long)(left / 1000));
    }
    if (tty)
        fprintf(stderr, "\r\033[K%.*s", (int)terminal_width() - 1, line);
    else
        fprintf(stderr, "memoir: %s\n", line);
    fflush(stderr);
    progress.shown = true;
}

static void *watch(void *nothing)
{
    bool tty = isatty(2);
    (void)nothing;
    pthread_mutex_lock(&progress.lock);
    while (progress.runs) {
        int64_t now = now_ms();
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

static void text_set(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
    terminal_clean(to, strlen(to));
}

void progress_start(const char *phase, const char *what)
{
    if (terminal_is_quiet())
        return;
    progress_end();
    text_set(progress.phase, sizeof progress.phase, phase);
    text_set(progress.what, sizeof progress.what, what);
    progress.done = progress.all = 0;
    progress.shown = false;
    progress.start_ms = now_ms();
    progress.next_ms = progress.start_ms + (isatty(2) ? FIRST_MS : AGAIN_LOG_MS);
    progress.runs = pthread_cond_init(&progress.changed, NULL) == 0;
    if (progress.runs && pthread_create(&progress.thread, NULL, watch, NULL) != 0)
        progress.runs = false;
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
