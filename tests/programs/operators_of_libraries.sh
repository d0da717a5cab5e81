#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A C++ library with operators of its own that binds its own calls to them, as libLLVM's does: blocks that
# go from the library to the program or back are no errors for guard:full and debug:on. The program's own
# blocks that it frees by the wrong function are.
. "$(dirname "$0")/common.sh"
settle
ulimit -c 0
cat >box.cc <<'END'
#include <cstdlib>
#include <new>
void *operator new(size_t size) { void *p = malloc(size); if (p == nullptr) throw std::bad_alloc(); return p; }
void *operator new[](size_t size) { void *p = malloc(size); if (p == nullptr) throw std::bad_alloc(); return p; }
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
void operator delete[](void *p) noexcept { free(p); }
extern "C" int *box_make(void) { return new int(3); }
extern "C" char *box_array(void) { char *p = new char[30]; *p = 1; return p; }
extern "C" void box_drop(int *p) { delete p; asm volatile(""); }
extern "C" void box_clear(char *p) { delete[] p; asm volatile(""); }
END
cat >user.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <cstring>
extern "C" int *box_make(void); extern "C" char *box_array(void);
extern "C" void box_drop(int *p); extern "C" void box_clear(char *p);
int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    for (int i = 0; i < 3; i++) {
        delete box_make();
        delete[] box_array();
        box_drop(new int(5));
        box_clear(new char[40]);
        box_drop(box_make());
    }
    if (strcmp(what, "plain") == 0)
        delete (int *)malloc(sizeof(int));
    if (strcmp(what, "array") == 0)
        delete[] new int(5);
    if (strcmp(what, "free") == 0)
        free(new int(5));
    puts("survived");
}
END
$CXX -w -O2 -g -fno-builtin -fPIC -shared -Wl,-Bsymbolic box.cc -o libbox.so
$CXX -w -O2 -g -fno-builtin user.cc -o user -L. -lbox -Wl,--enable-new-dtags,-rpath,"$PWD"
# Its operators end in a jump to malloc and free, or in a call of free, and it may keep them to itself.
mkdir tails calls kept
sed 's/{ void .p = malloc(size);.*/{ return malloc(size); }/' box.cc >tails.cc
echo '{ global: box_*; local: *; };' >box.map
$CXX -w -O2 -fno-builtin -fPIC -shared -Wl,-Bsymbolic tails.cc -o tails/libbox.so
$CXX -w -O0 -fPIC -shared -Wl,--version-script=box.map tails.cc -o calls/libbox.so
$CXX -w -O2 -fno-builtin -fPIC -shared -Wl,--version-script=box.map tails.cc -o kept/libbox.so
# One that keeps its operators to itself.
cat >hidden.cc <<'END'
#include <string>
extern "C" std::string *hidden_make(void) { return new std::string(100, 'x'); }
END
cat >keeper.cc <<'END'
#include <cstdio>
#include <string>
extern "C" std::string *hidden_make(void);
int main(void)
{
    for (int i = 0; i < 100; i++)
        delete hidden_make();
    puts("survived");
}
END
$CXX -O2 -fPIC -shared hidden.cc -o libhidden.so -static-libstdc++ -Wl,--exclude-libs,ALL
$CXX -O2 keeper.cc -o keeper -L. -lhidden -Wl,-rpath,"$PWD"

for mode in guard:full debug:on; do
    out=$(MEMOIR=$mode LD_PRELOAD="$MEMOIR_LIB" ./keeper 2>said) || fail "$mode, hidden: $?: $(head -3 said)"
    [ "$out" = survived ] && [ ! -s said ] || fail "$mode, hidden: $(head -3 said)"
    for folder in . tails calls kept; do
        export LD_LIBRARY_PATH=$folder
        out=$(MEMOIR=$mode LD_PRELOAD="$MEMOIR_LIB" ./user 2>said) || fail "$mode, $folder: status $?: $(head -3 said)"
        [ "$out" = survived ] && [ ! -s said ] || fail "$mode, $folder: $(head -3 said)"
        for wrong in plain array free; do
            MEMOIR=$mode LD_PRELOAD="$MEMOIR_LIB" ./user $wrong >out 2>said && fail "$mode, $folder: $wrong was not found"
            grep -Eq 'which was allocated with|deallocation mismatch' said || fail "$mode, $folder: $wrong: $(head -3 said)"
        done
    done
    unset LD_LIBRARY_PATH
done
finish
