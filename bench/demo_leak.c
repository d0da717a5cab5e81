/* SPDX-License-Identifier: MIT */
/*
 * The demo's program with a leak: a server that answers made-up requests, 40,000 unless told
 * otherwise. It allocates in three places. A reply lives for one request; the cache keeps what it
 * has, which is meant; and a session that begins again loses the name that it had before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { session_count = 500, cache_room = 400, cache_bytes = 4000 };

struct session {
    char *name;
    int requests;
};

static struct session sessions[session_count];
static char *cache[cache_room];

static _Noreturn void out_of_memory(void)
{
    fputs("demo: out of memory\n", stderr);
    exit(1);
}

/* The leak: nobody freed the name before. */
__attribute__((noinline)) static void session_begin(struct session *session, int number)
{
    session->name = malloc(200);
    if (session->name == NULL)
        out_of_memory();
    snprintf(session->name, 200, "session %d of a visitor", number);
    session->requests = 0;
}

__attribute__((noinline)) static const char *cache_find(int number)
{
    char **page = &cache[number % cache_room];
    if (*page != NULL)
        return *page;
    *page = malloc(cache_bytes);
    if (*page == NULL)
        out_of_memory();
    return strcpy(*page, "a page that is asked for often");
}

__attribute__((noinline)) static size_t reply_send(const struct session *session, const char *page)
{
    char *reply = malloc(strlen(session->name) + strlen(page) + 1000);
    if (reply == NULL)
        out_of_memory();
    size_t length = strlen(strcat(strcpy(reply, session->name), page));
    free(reply);
    return length;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 40000;
    size_t sent = 0;
    for (int i = 0; i < count; i++) {
        struct session *session = &sessions[i * 7 % session_count];
        if (session->name == NULL || ++session->requests == 3)
            session_begin(session, i);
        sent += reply_send(session, cache_find(i));
    }
    for (int i = 0; i < cache_room; i++)
        free(cache[i]);
    for (int i = 0; i < session_count; i++)
        free(sessions[i].name);
    printf("%d requests answered, %zu bytes\n", count, sent);
    return 0;
}
