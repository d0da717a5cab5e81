/* SPDX-License-Identifier: MIT */
#include "base/os.h"
#include "tool/profile/profile.h"
#include "tool/profile/model.h"
#include "lib/alloc/alloc.h"
