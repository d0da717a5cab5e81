#!/bin/sh
# SPDX-License-Identifier: MIT
# new(std::nothrow) calls the new handler when memory is out, and the program's own operator new where it has
# one. Another allocator's library behind ours, with operators of its own, gets none of these calls. The
# C++ library's own form is searched for once.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >other.cc <<'C'
#include <cstdio>
#include <dlfcn.h>
#include <new>
int searches;
extern "C" void *dlopen(const char *name, int flags)
{
    searches++;
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(name, flags);
}
static char memory[64];
void *operator new(std::size_t, const std::nothrow_t &) noexcept { std::puts("NO other new"); return memory; }
void *operator new[](std::size_t, const std::nothrow_t &) noexcept { std::puts("NO other new[]"); return memory; }
void *operator new(std::size_t, std::align_val_t, const std::nothrow_t &) noexcept { std::puts("NO other aligned"); return memory; }
void *operator new[](std::size_t, std::align_val_t, const std::nothrow_t &) noexcept { std::puts("NO other aligned[]"); return memory; }
void other() {}
C
cat >program.cc <<'C'
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
void other();
extern int searches;
static int handled, made;
static void handler() { if (++handled % 2 == 0) throw std::bad_alloc(); }
#ifdef OWN
void *operator new(std::size_t size) { made++; if (size > SIZE_MAX / 2) throw std::bad_alloc(); return std::malloc(size); }
#endif
int main()
{
    other();
    std::set_new_handler(handler);
    std::size_t volatile size = SIZE_MAX - 99;
    bool none = true;
    none = none && ::operator new(size, std::nothrow) == nullptr;
    none = none && ::operator new[](size, std::nothrow) == nullptr;
    none = none && ::operator new(size, std::align_val_t(64), std::nothrow) == nullptr;
    none = none && ::operator new[](size, std::align_val_t(64), std::nothrow) == nullptr;
    for (int i = 0; i < 100; i++)
        ::operator delete(::operator new(100, std::nothrow));
    std::printf("%s, handler %d, own %d, searches %d\n", none ? "none" : "NO a block", handled, made, searches);
}
C
"$CXX" -std=c++17 -shared -fPIC other.cc -o libother.so || fail "no library"
for own in '' -DOWN; do
    "$CXX" -std=c++17 -w $own program.cc -o program -Wl,--no-as-needed -L. -lother -Wl,-rpath,"$place" || fail "no program"
    case $own in '') wanted='none, handler 8, own 0, searches 4' ;; *) wanted='none, handler 4, own 102, searches 4' ;; esac
    got=$(preload ./program 2>&1)
    [ "$got" = "$wanted" ] || fail "$own: $got"
done
finish
