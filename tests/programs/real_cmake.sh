#!/bin/sh
# SPDX-License-Identifier: MIT
# cmake configures and builds a project the same way under the library.
. "$(dirname "$0")/same.sh"
need cmake make

project() {
    mkdir source build
    cat >source/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(sample C)
foreach(i RANGE 1 40)
    file(WRITE ${CMAKE_BINARY_DIR}/part${i}.c "int part${i}(void) { return ${i}; }\n")
    list(APPEND parts ${CMAKE_BINARY_DIR}/part${i}.c)
endforeach()
add_library(parts STATIC ${parts})
file(WRITE ${CMAKE_BINARY_DIR}/main.c "int part7(void); int main(void) { return part7() - 7; }\n")
add_executable(sample ${CMAKE_BINARY_DIR}/main.c)
target_link_libraries(sample parts)
string(REGEX MATCHALL "[a-z]+" words "some words and 12 more words")
message(STATUS "words: ${words}")
END
    cmake -S source -B build -G "Unix Makefiles" | grep -v 'seconds\|Configuring done\|Generating done\|written to'
    cmake --build build -j 2 | grep -c Building && build/sample && echo works
    nm build/libparts.a | cksum
    rm -rf build # it holds times
}

same "cmake" project
finish
