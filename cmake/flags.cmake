# SPDX-License-Identifier: MIT
#
# Compiler flags, all of them. The build type fixes optimisation; NDEBUG is never defined, because
# tests assert with assert().
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
foreach(lang C CXX)
    set(CMAKE_${lang}_FLAGS_RELEASE "-O2 -g")
    set(CMAKE_${lang}_FLAGS_DEBUG "-Og -g3")
endforeach()

# _GNU_SOURCE is defined empty, so that a source may still say `#define _GNU_SOURCE` itself.
add_compile_definitions(MEMOIR_VERSION="${PROJECT_VERSION}")
add_compile_options($<$<COMPILE_LANGUAGE:C>:-D_GNU_SOURCE=>)
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(MEMOIR_WARNINGS -Wall -Wextra -Werror -Wundef -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wvla)

# The library runs inside any program, before its constructors and after its destructors: its
# thread-local data must need no allocation (initial-exec), and the compiler must not turn our
# malloc into a call of malloc.
set(MEMOIR_LIBRARY_FLAGS ${MEMOIR_WARNINGS} -ftls-model=initial-exec -fno-stack-protector
    -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Sections: first.ld says which functions come first.
    list(APPEND MEMOIR_LIBRARY_FLAGS -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffunction-sections)
endif()

if(MEMOIR_SANITIZE)
    add_compile_options(-fsanitize=${MEMOIR_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${MEMOIR_SANITIZE})
    if(NOT MEMOIR_SANITIZE STREQUAL "thread")
        add_compile_options(-fno-sanitize-recover=all)
    else()
        # gcc only warns that it does not model fences.
        list(APPEND MEMOIR_LIBRARY_FLAGS -Wno-tsan)
    endif()
endif()

# musl-gcc has no kernel headers of its own. Lend it the system's: those three folders and no
# other, so that a header of glibc is still an error.
if(MEMOIR_LIBC STREQUAL "musl")
    set(kernel_headers ${PROJECT_BINARY_DIR}/kernel_headers)
    file(MAKE_DIRECTORY ${kernel_headers})
    foreach(folder linux asm-generic asm)
        foreach(place /usr/include /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
            if(EXISTS ${place}/${folder})
                file(CREATE_LINK ${place}/${folder} ${kernel_headers}/${folder} SYMBOLIC)
            endif()
        endforeach()
    endforeach()
    add_compile_options(-idirafter ${kernel_headers})
endif()
