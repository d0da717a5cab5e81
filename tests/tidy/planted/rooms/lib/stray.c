/* SPDX-License-Identifier: MIT */
#include "base/os.h"
