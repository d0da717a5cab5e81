/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/entry.h. Our own library adds one to such addresses before it writes them
 * (lib/watch/code.c). Other allocators and profilers do not, so the code is looked at.
 */
#include "tool/symbol/entry.h"

#include <string.h>
#include <unistd.h>

#include "base/call.h"
#include "tool/symbol/elf/elf.h"

enum { BEFORE = CALL_BYTES, BEHIND = 9 };

static bool is_entry(const struct image *image, const struct starts *starts, uint64_t own);
static bool may_begin(const struct starts *starts, uint64_t own, bool *early);
static bool is_signal_code(const struct image *image, const unsigned char *code);

void entry_mend(struct module *module)
{
    struct starts starts;
    if (!module->image || module->image->empty)
        return;
    starts_open(&starts, module->image);
    for (size_t i = 0; i < module->wanted_count; i++)
        if (module->owns[i] != 0 && module->returns[i] &&
            is_entry(module->image, &starts, module->owns[i] + 1)) {
            module->owns[i]++;
            module->wanted[i]++;
        }
}

static bool is_entry(const struct image *image, const struct starts *starts, uint64_t own)
{
    unsigned char code[BEFORE + BEHIND];
    uint64_t offset = image_offset(image, own);
    bool early;
    if (offset < BEFORE || image->fd < 0 || !call_knows(image->machine) ||
        !may_begin(starts, own, &early) ||
        pread(image->fd, code, sizeof code, (off_t)(offset - BEFORE)) != (ssize_t)sizeof code)
        return false;
    return is_signal_code(image, code + BEFORE) ||
           (!early && !call_ends(image->machine, code + BEFORE));
}

/* Whether a function may begin there: by the table, which has the code for signals one byte early;
 * or, in static programs that have none, by the alignment of functions. */
static bool may_begin(const struct starts *starts, uint64_t own, bool *early)
{
    enum { ALIGNMENT = 16 };
    uint64_t start, size;
    *early = false;
    if (starts->count == 0)
        return own % ALIGNMENT == 0;
    if (!starts_find(starts, own, &start, &size))
        return false;
    *early = start + 1 == own;
    return start == own || *early;
}

/* The code that signal handlers return to: the table of functions has it one byte early, so that a
 * lookup one byte lower finds it. On aarch64 the kernel provides it. */
static bool is_signal_code(const struct image *image, const unsigned char *code)
{
    static const unsigned char wanted[BEHIND] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 15, 5};
    return image->machine == EM_X86_64 && memcmp(code, wanted, sizeof wanted) == 0;
}
