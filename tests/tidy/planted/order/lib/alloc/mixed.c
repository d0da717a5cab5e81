/* SPDX-License-Identifier: MIT */
/* Our headers come before those of the system. */
#include "base/lock.h"
#include "base/os.h"

#include <string.h>
