/* SPDX-License-Identifier: MIT */
#include "tool/profile/names.h"
#include "tool/profile/redact.h"
