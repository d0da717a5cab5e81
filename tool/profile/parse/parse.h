/* SPDX-License-Identifier: MIT */
/* The door of tool/profile/parse: what readers of several formats share. */
#ifndef PROFILE_PARSE_PARSE_H
#define PROFILE_PARSE_PARSE_H

#include "tool/profile/parse/cursor.h"
#include "tool/profile/parse/frames.h"
#include "tool/profile/parse/ids.h"
#include "tool/profile/parse/paged.h"
#include "tool/profile/parse/read_input.h"
#include "tool/profile/parse/text_lines.h"
#include "tool/profile/parse/unpack.h"
#include "tool/profile/parse/value.h"
#include "tool/profile/parse/wire.h"

#endif
