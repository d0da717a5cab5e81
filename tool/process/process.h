/* SPDX-License-Identifier: MIT */
/* The door of tool/process: other processes, servers, and the profiles they give. */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "tool/process/attach_client.h"
#include "tool/process/bell.h"
#include "tool/process/child.h"
#include "tool/process/http.h"
#include "tool/process/input.h"
#include "tool/process/inspect.h"
#include "tool/process/oom.h"
#include "tool/process/package.h"
#include "tool/process/proc.h"
#include "tool/process/smaps.h"
#include "tool/process/system.h"

#endif
