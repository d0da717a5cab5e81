/* SPDX-License-Identifier: MIT */
/*
 * The demo's server. It answers made-up requests for six seconds unless told otherwise. Its heap
 * has every shape that a heap over time can have, one function each:
 *
 *   session_begin   the leak: a session that begins again loses the name that it had before
 *   cache_find      a cache: grows until it is full, then replaces entries; never freed, no leak
 *   report_write    a report half-way through: large for a second, then freed
 *   reply_send      replies: many, and each gone after microseconds
 *
 *     demo_server [SECONDS]
 *
 * Requests come at a steady pace, so that the curve is the same on fast and slow machines; a
 * machine that can't keep up answers fewer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    requests_a_second = 5000,
    request_us = 1000000 / requests_a_second,
    session_count = 500,
    session_requests = 3, /* then it begins again */
    cache_room = 1600,
    cache_bytes = 4000,
    report_lines = 64,
    line_bytes = 128 << 10,
};

struct session {
    char *name;
    int requests;
};

static struct session sessions[session_count];
static char *cache[cache_room];
static char *report[report_lines];

static void *need(void *block)
{
    if (block == NULL) {
        fputs("demo: out of memory\n", stderr);
        exit(1);
    }
    return block;
}

/* The leak: the name before this one is not freed. */
__attribute__((noinline)) static void session_begin(struct session *session, int number)
{
    session->name = need(malloc(800));
    snprintf(session->name, 800, "session %d of a visitor", number);
    session->requests = 0;
}

/* One request in four asks for a page that is not there yet. */
__attribute__((noinline)) static const char *cache_find(int number)
{
    char **page = &cache[number / 4 % cache_room];
    if (*page != NULL && number % 4 != 0)
        return *page;
    free(*page);
    *page = need(malloc(cache_bytes));
    return strcpy(*page, "a page that is asked for often");
}

__attribute__((noinline)) static void report_write(int line)
{
    report[line] = need(malloc(line_bytes));
    memset(report[line], '-', line_bytes);
}

static void report_free(void)
{
    for (int i = 0; i < report_lines; i++) {
        free(report[i]);
        report[i] = NULL;
    }
}

__attribute__((noinline)) static size_t reply_send(const struct session *session, const char *page)
{
    char *reply = need(malloc(strlen(session->name) + strlen(page) + 1000));
    size_t length = strlen(strcat(strcpy(reply, session->name), page));
    free(reply);
    return length;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t request_answer(int number)
{
    struct session *session = &sessions[number * 7 % session_count];
    if (session->name == NULL || ++session->requests == session_requests)
        session_begin(session, number);
    return reply_send(session, cache_find(number));
}

/* The report grows from 50 % of the run to 60 %, and is done at 70 %. */
static void report_proceed(double share, int *lines)
{
    while (share >= 0.5 && *lines < report_lines && share >= 0.5 + 0.1 * *lines / report_lines)
        report_write((*lines)++);
    if (share >= 0.7)
        report_free();
}

int main(int argc, char **argv)
{
    double whole = argc > 1 ? atof(argv[1]) : 6, start = seconds_now(), passed = 0;
    size_t sent = 0;
    int count = 0, lines = 0;
    printf("process %d answers requests\n", getpid());
    fflush(stdout);
    while ((passed = seconds_now() - start) < whole) {
        for (int due = (int)(passed * requests_a_second); count < due; count++)
            sent += request_answer(count);
        report_proceed(passed / whole, &lines);
        nanosleep(&(struct timespec){.tv_nsec = 10L * request_us * 1000}, NULL);
    }
    printf("%d requests answered, %zu bytes\n", count, sent);
    return 0;
}
