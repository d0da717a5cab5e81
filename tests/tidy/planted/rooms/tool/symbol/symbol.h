/* SPDX-License-Identifier: MIT */
#include "tool/profile/profile.h"
