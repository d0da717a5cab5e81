#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=900
# Real programs say and do the same with hardened blocks: the tests of these programs, in this mode.
. "$(dirname "$0")/common.sh"
real_programs harden:on git perl # all of them: ./dev soak programs
finish
