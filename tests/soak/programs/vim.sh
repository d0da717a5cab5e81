#!/bin/sh
# SPDX-License-Identifier: MIT
# vim edits the same way under the library.
. "$(dirname "$0")/../../programs/same.sh"
need vim

work() {
    seq 1 20000 >text
    vim -u NONE -N -es -c 'set nomore undolevels=1000' -c '%s/\v(\d)(\d)$/\2-\1/e' -c 'g/7/m0' -c 'v/3/d' -c '%sort n' \
        -c 'normal gg10ddGp' -c 'undo' -c 'redo' -c 'w! result' -c 'call setline(1, repeat(["x"], 5000))' -c 'w! second' \
        -c 'qa!' text </dev/null
    cksum result second
    rm -f .*.swp
}
same "vim" work
finish
