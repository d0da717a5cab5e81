#!/bin/sh
# SPDX-License-Identifier: MIT
# vim edits the same way under the library.
. "$(dirname "$0")/../../programs/same.sh"
need vim

cat >"$place/edit.vim" <<'END'
set nomore undolevels=1000
%s/\v(\d)(\d)$/\2-\1/e
g/7/m0
v/3/d
%sort n
normal gg10ddGp
undo
redo
w! result
call setline(1, repeat(["x"], 5000))
w! second
qa!
END
work() {
    seq 1 20000 >text
    vim -u NONE -i NONE -n -N -es -S "$place/edit.vim" text </dev/null
    cksum result second
}
same "vim" work
finish
