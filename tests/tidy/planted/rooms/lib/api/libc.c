/* SPDX-License-Identifier: MIT */
#include "lib/api/hot.h"
#include "base/os.h"
#include "memoir/memoir.h"
#include <malloc.h>
