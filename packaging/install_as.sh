#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes an installed prefix look like another project's own installation:
#
#     install_as.sh PROJECT PREFIX [--check] [--force]
#
# PROJECT is jemalloc, gperftools or mimalloc. Its libraries, headers, commands, pkg-config and CMake
# files come to lib, include and bin of PREFIX, as links to what lib/memoir/compat has, so that a
# later installation of memoir renews them. A file that is not ours is replaced only with --force;
# without it nothing is done at all. --check only looks for such files.
# shellcheck disable=SC2016 # what single quotes hold is for the files that are written
set -eu
project=$1
prefix=$2
shift 2
force='' check='' scripts=''
for word in "$@"; do
    case $word in
    --force) force=yes ;;
    --check) check=yes ;;
    *) echo "install_as.sh does not take '$word'" >&2; exit 2 ;;
    esac
done
lib=$prefix/lib
[ ! -d "$prefix/lib64/memoir" ] || lib=$prefix/lib64
compat=$lib/memoir/compat
sources=$(cd "$(dirname "$0")/../include/memoir/compat" && pwd)

case $project in
jemalloc)
    libraries='libjemalloc.so libjemalloc.so.2 libjemalloc.a libjemalloc_pic.a'
    headers=jemalloc/jemalloc.h commands=jeprof descriptions=jemalloc
    scripts='jemalloc-config jemalloc.sh'
    ;;
gperftools)
    libraries='libprofiler.so libprofiler.so.0'
    descriptions=libprofiler
    for name in tcmalloc tcmalloc_minimal tcmalloc_debug tcmalloc_minimal_debug tcmalloc_and_profiler; do
        libraries="$libraries lib$name.so lib$name.so.4"
        descriptions="$descriptions lib$name"
    done
    libraries="$libraries libtcmalloc.a libtcmalloc_minimal.a libtcmalloc_debug.a libtcmalloc_minimal_debug.a libprofiler.a libtcmalloc_and_profiler.a"
    headers=$(cd "$sources" && echo gperftools/*.h google/*.h)
    commands='pprof google-pprof'
    ;;
mimalloc)
    libraries='libmimalloc.so libmimalloc.so.2 libmimalloc.so.3 libmimalloc.a mimalloc.o'
    headers=$(cd "$sources" && echo mimalloc*.h)
    commands='' descriptions=mimalloc
    ;;
*)
    echo "'$project' is not one of: jemalloc gperftools mimalloc" >&2
    exit 2
    ;;
esac

# Each file with what it is made of: a link to that, or for pkg-config, CMake and jemalloc's scripts
# a file that leads there.
each() { # COMMAND: called with FILE SOURCE
    for name in $libraries; do "$1" "$lib/$name" "memoir/compat/$name"; done
    for name in $headers; do
        case $name in */*) up=../ ;; *) up='' ;; esac
        "$1" "$prefix/include/$name" "${up}memoir/compat/$name"
    done
    for name in $commands; do "$1" "$prefix/bin/$name" "../${lib##*/}/memoir/compat/bin/$name"; done
    for name in $descriptions; do "$1" "$lib/pkgconfig/$name.pc" description; done
    for name in $scripts; do "$1" "$prefix/bin/$name" script; done
    [ "$project" != mimalloc ] || "$1" "$lib/mimalloc-2.4/mimalloc.o" ../memoir/compat/mimalloc.o
    [ "$project" != mimalloc ] || "$1" "$lib/cmake/mimalloc/mimalloc-config.cmake" package
    [ "$project" != mimalloc ] || "$1" "$lib/cmake/mimalloc/mimalloc-config-version.cmake" package
}

# What an earlier run made is a link to our folder, or says so.
foreign() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    case $(readlink "$1" || :) in *memoir/compat/*) return 0 ;; esac
    [ ! -f "$1" ] || ! grep -q memoir/compat "$1" || return 0
    echo "$1"
}

make() {
    mkdir -p "$(dirname "$1")"
    rm -f "$1"
    case $2 in
    description)
        sed -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e "s|^libdir=.*|libdir=\${prefix}/${lib##*/}|" \
            -e '1i # of memoir: lib/memoir/compat' -e 's|^includedir=.*|includedir=${prefix}/include|' \
            "$compat/pkgconfig/${1##*/}" >"$1"
        ;;
    script)
        printf '#!/bin/sh\nexec "$(dirname "$0")/../%s/memoir/compat/bin/%s" "$@"\n' "${lib##*/}" "${1##*/}" >"$1"
        chmod 755 "$1"
        ;;
    package)
        printf 'include("${CMAKE_CURRENT_LIST_DIR}/../../memoir/compat/cmake/%s")\n' "${1##*/}" >"$1"
        ;;
    *) ln -s "$2" "$1" ;;
    esac
}

strangers=$(each foreign)
if [ -n "$strangers" ] && [ -z "$force" ]; then
    echo "these files are not memoir's; --force replaces them:" >&2
    echo "$strangers" >&2
    exit 1
fi
[ -n "$check" ] || each make
