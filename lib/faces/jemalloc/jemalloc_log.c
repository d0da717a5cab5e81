/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's prof_log: started at the beginning or by prof.log_start, written by prof.log_stop or
 * at the end. Without a name it is PREFIX.PID.NUMBER.json. And its prof_recent, handed to a
 * function of the program's.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/file/sink.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/dump/dump.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/heap/observer.h"

enum { TEXT_SIZE = 2048 };

static BULK char path[DUMP_NAME_SIZE]; /* given, or empty */
static unsigned number;

bool jemalloc_log_start(const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);
    if (length >= sizeof path || (name == NULL && control_jemalloc.prefix[0] == '\0') ||
        !block_log_start())
        return false;
    if (length > 0)
        memcpy(path, name, length);
    path[length] = '\0';
    return true;
}

bool jemalloc_log_stop(void)
{
    char own[DUMP_NAME_SIZE];
    const char *target = path;
    int64_t rate = control_rate();
    if (!(load_relaxed(&block_events) & BLOCK_LOG))
        return false;
    if (path[0] == '\0') {
        struct print name;
        print_start(&name, own, sizeof own);
        print_format(&name, "%s.%d.%u.json", control_jemalloc.prefix, (int)os_pid(), number++);
        target = print_string(&name);
    }
    unsigned lg_sample = rate <= 1 ? 0 : 63 - (unsigned)__builtin_clzl((uint64_t)rate);
    return dump_block_log(target, JEMALLOC_COMPATIBLE_VERSION, lg_sample) == 0;
}

struct listener {
    void (*write)(void *opaque, const char *text);
    void *opaque;
};

static int listener_write(void *context, const void *bytes, size_t length)
{
    const struct listener *listener = context;
    char text[TEXT_SIZE];
    for (const char *at = bytes; length > 0;) {
        size_t part = length < sizeof text ? length : sizeof text - 1;
        memcpy(text, at, part);
        text[part] = '\0';
        if (listener->write != NULL)
            listener->write(listener->opaque, text);
        else
            jemalloc_write(text);
        at += part;
        length -= part;
    }
    return 0;
}

int jemalloc_recent_write(void (*write)(void *opaque, const char *text), void *opaque)
{
    struct listener listener = {write, opaque};
    struct sink sink;
    char buffer[TEXT_SIZE];
    int64_t rate = control_rate();
    sink_to_function(&sink, listener_write, &listener, buffer, sizeof buffer);
    return recent_write(&sink, rate <= 1 ? 1 : (uint64_t)rate);
}
