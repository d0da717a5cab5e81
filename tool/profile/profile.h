/* SPDX-License-Identifier: MIT */
/* The door of tool/profile: profiles in memory, read from files and written to them. */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "tool/profile/block_size.h"
#include "tool/profile/capture.h"
#include "tool/profile/exact.h"
#include "tool/profile/finder.h"
#include "tool/profile/json.h"
#include "tool/profile/model.h"
#include "tool/profile/name.h"
#include "tool/profile/names.h"
#include "tool/profile/order.h"
#include "tool/profile/place.h"
#include "tool/profile/read.h"
#include "tool/profile/redact.h"
#include "tool/profile/series.h"
#include "tool/profile/write.h"

#endif
