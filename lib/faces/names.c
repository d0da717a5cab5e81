/* SPDX-License-Identifier: MIT */
/* See lib/faces/names.h. */
#include "lib/faces/names.h"

#include <stddef.h>
#include <string.h>

/* libtcmalloc_debug, libtcmalloc_minimal_debug; NULL where neither is in the process. */
extern const char memoir_mode_debug[] __attribute__((weak));

/* A flag that gperftools' own debug libraries export, and no other of its libraries. */
extern const bool their_page_fence __asm__(
    "_ZN60FLAG__namespace_do_not_use_directly_use_DECLARE_bool_instead"
    "23FLAGS_malloc_page_fenceE") __attribute__((weak));

/* The SONAME of one of ours of gperftools' names. */
extern const char memoir_face_gperftools[] __attribute__((weak));

bool names_have_minimal(void)
{
    return memoir_face_gperftools != NULL && strstr(memoir_face_gperftools, "_minimal") != NULL;
}

bool names_have_debug(void)
{
    return memoir_mode_debug != NULL || &their_page_fence != NULL;
}
