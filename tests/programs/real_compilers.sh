#!/bin/sh
# SPDX-License-Identifier: MIT
# gcc and g++ write the same object files under the library, for small and for large inputs.
. "$(dirname "$0")/same.sh"
need gcc g++

cat >"$place/many.cc" <<'END'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <unordered_map>
#include <vector>
template <int N> struct chain { static int value(int x) { return chain<N - 1>::value(x * N + 1); } };
template <> struct chain<0> { static int value(int x) { return x; } };
int main()
{
    std::map<std::string, std::vector<int>> all;
    std::unordered_map<int, std::function<int(int)>> calls;
    for (int i = 0; i < 100; i++) {
        all[std::to_string(i % 7)].push_back(chain<100>::value(i));
        calls[i] = [i](int x) { return x + i; };
    }
    std::stringstream out;
    for (auto &entry : all) {
        std::sort(entry.second.begin(), entry.second.end());
        out << entry.first << ' ' << entry.second.size() << ' ' << calls[3](entry.second[0]) << '\n';
    }
    std::cout << std::regex_replace(out.str(), std::regex("[0-5]"), "x");
}
END
awk 'BEGIN { print "extern int g(int);"; for (i = 0; i < 1000; i++)
    printf "int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += g(i * %d) %% %d; return s; }\n", i, i, i + 1 }' \
    >"$place/long.c"

small() {
    printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >small.c
    gcc -O2 -c small.c && gcc small.o -o small -Wl,--build-id=none && ./small && gcc -S -O3 small.c && gcc -E small.c | cksum
    gcc -c no_such_file.c || echo refused
}
long_c() {
    cp "$place/long.c" .
    gcc -O2 -g -c long.c && gcc -O0 -S long.c
}
templates() {
    cp "$place/many.cc" .
    g++ -O2 -g -std=c++17 -c many.cc && g++ many.o -o many -Wl,--build-id=none && ./many
}

same "gcc" small
same "gcc, a long file" long_c
same "g++" templates
finish
