#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs its arguments with the library preloaded, under jemalloc's name: lib/memoir/compat, in whose
# folder bin this file is. What was to be preloaded already comes behind it.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
LD_PRELOAD=${here%/bin}/libjemalloc.so.2${LD_PRELOAD:+:$LD_PRELOAD}
export LD_PRELOAD
exec "$@"
