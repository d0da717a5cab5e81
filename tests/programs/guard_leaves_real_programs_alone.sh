#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Real programs say and do the same with every block guarded: the tests of these programs, in this mode.
. "$(dirname "$0")/common.sh"
real_programs guard:full sqlite3 shell_and_coreutils # all of them: ./dev soak programs
finish
