/* SPDX-License-Identifier: MIT */
/* The door of tool/profile: files that hold profiles, read. */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "tool/profile/capture.h"

#endif
