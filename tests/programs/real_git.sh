#!/bin/sh
# SPDX-License-Identifier: MIT
# git gives the same objects and the same answers under the library.
. "$(dirname "$0")/same.sh"
need git
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.com
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_CONFIG_GLOBAL=/dev/null

repository() {
    git init -q -b main repo && cd repo || return 1
    for commit in 1 2 3 4 5 6; do
        mkdir -p dir$commit
        for file in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
            seq $commit $((commit * file * 40)) >dir$commit/file$file
        done
        git add . && git commit -q -m "commit $commit" || return 1
    done
    git checkout -q -b side HEAD~2 && echo side >side && git add side && git commit -q -m side &&
        git checkout -q main && git merge -q -m merge side && git rebase -q HEAD~1
    git rev-parse HEAD && git log --stat --format='%H %s' | tail -n 20 && git diff HEAD~3 | cksum
    git blame dir3/file3 | tail -n 2 && git grep -c 77 | head -n 5 && git ls-tree -r HEAD | cksum
    git gc -q --prune=now && git fsck --strict --no-progress && git count-objects -v | grep -E 'count|packs'
    cd .. && git clone -q --no-hardlinks repo copy && git clone -q --bare "file://$PWD/repo" bare.git
    git -C copy log --format=%H | cksum && git -C bare.git fsck --no-progress && git -C copy status --short
    git -C copy archive HEAD | cksum
    rm -rf repo copy bare.git # packs and indexes hold times
}

same "git" repository
finish
