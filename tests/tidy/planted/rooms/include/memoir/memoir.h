/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include "base/os.h"
