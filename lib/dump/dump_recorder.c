/* SPDX-License-Identifier: MIT */
/*
 * What dump.h says about the recorder file: when it is made, told of something, and done with. Each
 * call takes the lock of dump.c; the file itself is recorder_file.c's.
 */
#include "base/compiler.h"
#include "base/os.h"
#include "lib/dump/capture_file.h"
#include "lib/dump/dump_lock.h"
#include "lib/dump/recorder_ahead.h"
#include "lib/dump/recorder_file.h"

int dump_recorder(const char *path)
{
    if (!dump_lock(true))
        return dump_lock_error();
    int error = dump_complain_of_recorder(recorder_file_begin(path));
    dump_unlock();
    return error;
}

void dump_recorder_look_locked(void)
{
    dump_complain_of_recorder(recorder_file_look());
}

/* At once, unless another thread writes a dump: what was loaded may crash. */
void dump_recorder_objects(void)
{
    recorder_file_objects();
    if (load_relaxed(&totals_due))
        triggers_run();
}

void dump_told(unsigned which, const struct dump_style *style, const char *path)
{
    static uint32_t told; /* a bit each */
    uint32_t bit = 1u << which;
    if ((style == NULL && !(load_relaxed(&told) & bit)) || os_secure() || !dump_lock(true))
        return;
    store_relaxed(&told, style == NULL ? told & ~bit : told | bit);
    recorder_file_told(which, style, path);
    if (style != NULL)
        recorder_file_keep();
    dump_unlock();
}

void dump_before_leaving(void)
{
    if (!recorder_file_waits() || !dump_lock(true))
        return;
    dump_complain_of_recorder(recorder_file_now());
    dump_complain_of_capture(capture_file_now());
    dump_unlock();
}

void dump_before_sleep(void)
{
    if (!recorder_file_waits() || !dump_lock(true))
        return;
    dump_complain_of_recorder(recorder_file_sleep());
    dump_unlock();
}

bool dump_before_root(void)
{
    if (!dump_lock(true))
        return false;
    bool made = recorder_file_leave();
    dump_unlock();
    return made;
}

void dump_root_failed(bool made)
{
    if (!made || !dump_lock(true))
        return;
    ahead_drop();
    dump_unlock();
}

void dump_recorder_end(void)
{
    if (!dump_lock(true))
        return;
    recorder_file_end();
    dump_unlock();
}
