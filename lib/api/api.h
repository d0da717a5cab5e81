/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/api, for lib/control and lib/faces: malloc's own entry points and what they
 * consist of (hot.h, cold.h, libc.h), and what is known about the process (lib/process, foreign.h,
 * deepbind.h, young.h).
 */
#ifndef API_API_H
#define API_API_H

#include "lib/api/abandoned.h"
#include "lib/api/cold.h"
#include "lib/api/debugging.h"
#include "lib/api/deepbind.h"
#include "lib/api/elsewhere.h"
#include "lib/api/filling.h"
#include "lib/api/foreign.h"
#include "lib/api/guarding.h"
#include "lib/api/hooks.h"
#include "lib/api/hot.h"
#include "lib/api/init.h"
#include "lib/api/libc.h"
#include "lib/api/locks.h"
#include "lib/api/mismatch.h"
#include "lib/api/owned.h"
#include "lib/api/young.h"
#include "lib/process/process.h"

#endif
