/* SPDX-License-Identifier: MIT */
/* See lib/faces/names.h. */
#include "lib/faces/names.h"

#include <stddef.h>

/* libtcmalloc_debug, libtcmalloc_minimal_debug; NULL where neither is in the process. */
extern const char memoir_mode_debug[] __attribute__((weak));

bool names_have_debug(void)
{
    return memoir_mode_debug != NULL;
}
