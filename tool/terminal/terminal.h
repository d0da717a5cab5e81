/* SPDX-License-Identifier: MIT */
/* The door of tool/terminal: what a command prints, and the files it writes. */
#ifndef TERMINAL_TERMINAL_H
#define TERMINAL_TERMINAL_H

#include "tool/terminal/error.h"
#include "tool/terminal/json.h"
#include "tool/terminal/name.h"
#include "tool/terminal/output.h"
#include "tool/terminal/pack.h"
#include "tool/terminal/progress.h"
#include "tool/terminal/say.h"
#include "tool/terminal/screen.h"
#include "tool/terminal/style.h"
#include "tool/terminal/suggest_file.h"
#include "tool/terminal/text_file.h"
#include "tool/terminal/value_unit.h"
#include "tool/terminal/wrap.h"

#endif
