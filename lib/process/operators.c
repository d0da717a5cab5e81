/* SPDX-License-Identifier: MIT */
/* See lib/process/operators.h. Not in the static archive, where the linker decides. */
#include "lib/process/operators.h"

#include <dlfcn.h>
#include <string.h>

#include "base/os.h"

extern void (*_ZSt15get_new_handlerv(void))(void) __attribute__((weak));
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

#define SEEN(member, name) (found->member = (__typeof__(found->member))dlsym(RTLD_DEFAULT, name))

/* Asks only where there is a C++ library: other programs call no operators, and libc allocates a
 * message for a name that it does not find. */
bool operators_by_loader(struct operators *found, const struct operators *ours)
{
    if (_ZSt15get_new_handlerv == NULL || dlsym == NULL || os_static())
        return false;
    SEEN(make, "_Znwm");
    SEEN(make_array, "_Znam");
    SEEN(make_aligned, "_ZnwmSt11align_val_t");
    SEEN(make_array_aligned, "_ZnamSt11align_val_t");
    SEEN(drop, "_ZdlPv");
    SEEN(drop_array, "_ZdaPv");
    SEEN(drop_aligned, "_ZdlPvSt11align_val_t");
    SEEN(drop_array_aligned, "_ZdaPvSt11align_val_t");
    return memcmp(found, ours, sizeof *found) != 0;
}
