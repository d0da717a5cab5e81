/* SPDX-License-Identifier: MIT */
#include "base/os.h"
#include "lib/alloc/span.h"
#include "lib/api/api.h"
