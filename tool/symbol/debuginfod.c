/* SPDX-License-Identifier: MIT */
/* See tool/symbol/debuginfod.h. */
#include "tool/symbol/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t fetch_skipped;
static enum symbol_fetch fetch_state;
static struct sigaction fetch_before;

/* The functions of libdebuginfod; all or none. */
struct library {
    debuginfod_client *(*begin)(void);
    void (*end)(debuginfod_client *client);
    void (*set_progress)(debuginfod_client *client, debuginfod_progressfn_t function);
    void (*set_data)(debuginfod_client *client, void *data);
    void *(*data)(debuginfod_client *client);
    int (*find_debuginfo)(debuginfod_client *client, const unsigned char *id, int length,
                          char **path);
    int (*find_executable)(debuginfod_client *client, const unsigned char *id, int length,
                           char **path);
};

static struct library fetch_library;

static void on_interrupt(int signal);
static int on_progress(debuginfod_client *client, long done, long all);

void fetch_start(void)
{
    struct sigaction skip = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    struct library library = {0};
    fetch_skipped = 0;
    fetch_state = handle ? SYMBOL_FETCH_FINE : SYMBOL_FETCH_NO_LIBRARY;
    setenv(DEBUGINFOD_TIMEOUT_ENV_VAR, "30", 0);
    sigaction(SIGINT, &skip, &fetch_before);
    if (!handle)
        return;
    struct {
        void *place;
        const char *name;
    } names[] = {
        {&library.begin, "debuginfod_begin"},
        {&library.end, "debuginfod_end"},
        {&library.set_progress, "debuginfod_set_progressfn"},
        {&library.set_data, "debuginfod_set_user_data"},
        {&library.data, "debuginfod_get_user_data"},
        {&library.find_debuginfo, "debuginfod_find_debuginfo"},
        {&library.find_executable, "debuginfod_find_executable"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *function = dlsym(handle, names[i].name);
        if (!function)
            return;
        memcpy(names[i].place, &function, sizeof function);
    }
    fetch_library = library;
}

static void on_interrupt(int signal)
{
    (void)signal;
    fetch_skipped = 1;
}

enum symbol_fetch fetch_end(void)
{
    sigaction(SIGINT, &fetch_before, NULL);
    return __atomic_load_n(&fetch_state, __ATOMIC_RELAXED);
}

bool fetch_file(struct module *module, const char *build_id, bool debug, char *path, size_t size)
{
    const struct library *library = &fetch_library;
    debuginfod_client *client = library->begin && !fetch_skipped ? library->begin() : NULL;
    char *found = NULL;
    if (!client)
        return false;
    library->set_data(client, module);
    library->set_progress(client, on_progress);
    __atomic_store_n(&module->fetching, true, __ATOMIC_RELAXED);
    /* Length 0: the id is text. */
    int fd = (debug ? library->find_debuginfo
                    : library->find_executable)(client, (const unsigned char *)build_id, 0, &found);
    __atomic_store_n(&module->fetching, false, __ATOMIC_RELAXED);
    if (fd == -ETIME || fd == -ETIMEDOUT) { /* so would all others, one after the other */
        __atomic_store_n(&fetch_state, SYMBOL_FETCH_LATE, __ATOMIC_RELAXED);
        fetch_skipped = 1;
    }
    bool ok = fd >= 0 && found && (size_t)snprintf(path, size, "%s", found) < size;
    if (fd >= 0)
        close(fd);
    free(found);
    library->end(client);
    return ok;
}

/* Not 0: leave it. */
static int on_progress(debuginfod_client *client, long done, long all)
{
    struct module *module = fetch_library.data(client);
    if (module) {
        __atomic_store_n(&module->fetched_bytes, done > 0 ? (uint64_t)done : 0, __ATOMIC_RELAXED);
        __atomic_store_n(&module->fetch_bytes, all > 0 ? (uint64_t)all : 0, __ATOMIC_RELAXED);
    }
    return fetch_skipped;
}
