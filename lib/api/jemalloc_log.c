/* SPDX-License-Identifier: MIT */
/* jemalloc's prof_log: started at the beginning or by prof.log_start, written by prof.log_stop or
 * at the end. Without a name it is PREFIX.PID.NUMBER.json. */
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/api/control.h"
#include "lib/api/jemalloc.h"

static char path[DUMP_NAME_SIZE]; /* given, or empty */
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
    if (!load_relaxed(&block_log_on))
        return false;
    if (path[0] == '\0') {
        struct print name;
        print_start(&name, own, sizeof own);
        print_format(&name, "%s.%d.%u.json", control_jemalloc.prefix, (int)os_pid(), number++);
        target = print_string(&name);
    }
    unsigned lg_sample = rate <= 1 ? 0 : 63 - (unsigned)__builtin_clzl((uint64_t)rate);
    return block_log_stop(target, JEMALLOC_COMPATIBLE_VERSION, lg_sample) == 0;
}
