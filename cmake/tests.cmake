# SPDX-License-Identifier: MIT
#
# How each folder of tests/ becomes CTest tests; the convention is at the head of
# tests/CMakeLists.txt.
include(CheckLanguage)

# musl has no libstdc++ on Debian, and a compiler for C++ may be missing. It may also have arrived
# since the last time: an earlier failure to find it is forgotten first.
set(sources_pattern *.c)
if(MEMOIR_LIBC STREQUAL "glibc" AND NOT MEMOIR_SANITIZE)
    if(NOT CMAKE_CXX_COMPILER)
        unset(CMAKE_CXX_COMPILER CACHE)
    endif()
    if(CMAKE_CROSSCOMPILING)
        find_program(cross_cxx NAMES ${CMAKE_CXX_COMPILER})
        set(has_cxx ${cross_cxx})
    else()
        check_language(CXX)
        set(has_cxx ${CMAKE_CXX_COMPILER})
    endif()
    if(has_cxx)
        enable_language(CXX)
        set(CMAKE_CXX_STANDARD 17)
        set(sources_pattern *.c *.cc)
    else()
        message(STATUS "No C++ compiler: the tests in C++ are left out")
    endif()
endif()

# Contract tests do on purpose what compilers warn of, and must reach the allocator.
set(contract_flags -O1 -g -fno-builtin -Wall -Wextra -Werror -Wno-unused-result
    -Wno-deprecated-declarations -Wno-use-after-free -Wno-free-nonheap-object
    -Wno-alloc-size-larger-than -Wno-nonnull -Wno-array-bounds -Wno-stringop-overflow
    -Wno-uninitialized -Wno-maybe-uninitialized
    $<$<COMPILE_LANGUAGE:C>:-Wno-mismatched-dealloc>
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>
    $<$<COMPILE_LANGUAGE:CXX>:-fsized-deallocation>)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    list(APPEND contract_flags -Wno-unknown-warning-option -Wno-unknown-attributes
        -Wno-non-power-of-two-alignment -Wno-builtin-assume-aligned-alignment)
endif()

# words(FILE): sets `words` to the first five lines, and has CMake look again when FILE changes.
macro(words file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} first_lines LIMIT_COUNT 5)
    string(REPLACE ";" " " words " ${first_lines} ")
    string(REGEX REPLACE "[^a-zA-Z0-9=-]" " " words "${words}")
endmacro()

# has(VARIABLE WORD)
macro(has variable word)
    set(${variable} OFF)
    if(words MATCHES " ${word} ")
        set(${variable} ON)
    endif()
endmacro()

# discover(FOLDER): sets `files` to the sources of tests/FOLDER; further arguments are patterns.
macro(discover folder)
    set(patterns ${ARGN})
    list(TRANSFORM patterns PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/)
    file(GLOB files CONFIGURE_DEPENDS ${patterns})
endmacro()

# register(NAME TIMEOUT [SERIAL] [ENVIRONMENT ...] COMMAND ...): one CTest test in a folder of its own.
function(register name timeout)
    cmake_parse_arguments(PARSE_ARGV 2 arg "SERIAL" "" "ENVIRONMENT;COMMAND")
    set(place ${PROJECT_BINARY_DIR}/tests/place/${name})
    file(MAKE_DIRECTORY ${place})
    add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${place})
    if(words MATCHES " timeout=([0-9]+) ")
        set(timeout ${CMAKE_MATCH_1})
    endif()
    has(serial run-serial)
    if(arg_SERIAL OR serial)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
    string(REGEX MATCH "^[a-z]+" folder ${name})
    set(labels ${folder})
    has(quick quick-too)
    if(quick OR folder MATCHES "${quick_folders}")
        list(APPEND labels quick)
    endif()
    set_tests_properties(${name} PROPERTIES
        TIMEOUT ${timeout} SKIP_RETURN_CODE 77 LABELS "${labels}"
        ENVIRONMENT "TMPDIR=${place};MEMOIR_EMULATOR=${emulator};${arg_ENVIRONMENT}")
endfunction()

# The core tests, `./dev test --quick`, and what they need to be built.
set(quick_folders "^(unit|tool|api|misuse|tidy)")
add_custom_target(quick)
if(TARGET products)
    add_dependencies(quick products)
endif()

# program(TARGET SOURCES ... FLAGS ... LINK ...): one test program. Position independent, like users' programs.
function(program target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FLAGS;LINK")
    add_executable(${target} ${arg_SOURCES})
    target_compile_options(${target} PRIVATE ${arg_FLAGS})
    target_link_libraries(${target} PRIVATE ${arg_LINK} Threads::Threads ${CMAKE_DL_LIBS} m)
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
    has(quick quick-too)
    if(quick OR target MATCHES "${quick_folders}")
        add_dependencies(quick ${target})
    endif()
endfunction()

string(REPLACE ";" " " emulator "${CMAKE_CROSSCOMPILING_EMULATOR}")
set(preload LD_PRELOAD=${PROJECT_BINARY_DIR}/libmemoir.so)
set(script_environment
    MEMOIR_LIB=${PROJECT_BINARY_DIR}/libmemoir.so MEMOIR_STATIC=${PROJECT_BINARY_DIR}/libmemoir.a
    MEMOIR_TOOL=${PROJECT_BINARY_DIR}/memoir MEMOIR_ROOT=${PROJECT_SOURCE_DIR}
    CC=${CMAKE_C_COMPILER} CXX=${CMAKE_CXX_COMPILER})

function(discover_unit)
    discover(unit *.c)
    foreach(file IN LISTS files)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        has(unemulated not-emulated)
        has(no_musl not-musl)
        has(helper helper)
        if((unemulated AND CMAKE_CROSSCOMPILING) OR (no_musl AND MEMOIR_LIBC STREQUAL "musl")
                OR helper)
            continue()
        endif()
        has(with_readers with-readers)
        set(readers "")
        if(with_readers)
            set(readers ${PROJECT_SOURCE_DIR}/tool/profile/capture/capture_records.c
                ${PROJECT_SOURCE_DIR}/tool/profile/place.c)
        endif()
        program(unit_${name} SOURCES ${file} ${readers} $<TARGET_OBJECTS:memoir_base>
            $<TARGET_OBJECTS:memoir_window> $<TARGET_OBJECTS:memoir_alloc> $<TARGET_OBJECTS:memoir_watch>
            $<TARGET_OBJECTS:memoir_heap> $<TARGET_OBJECTS:memoir_cpu> $<TARGET_OBJECTS:memoir_leak> $<TARGET_OBJECTS:memoir_guard> $<TARGET_OBJECTS:memoir_dump>
            FLAGS ${MEMOIR_LIBRARY_FLAGS})
        if(MEMOIR_SANITIZE)
            register(unit/${name} 300 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run
                sanitized ${MEMOIR_SANITIZE} $<TARGET_FILE:unit_${name}>)
        else()
            register(unit/${name} 120 COMMAND unit_${name})
        endif()
    endforeach()
endfunction()

# The rooms of the tool; the same programs in every build that has a tool.
function(discover_tool)
    discover(tool *.c)
    foreach(file IN LISTS files)
        words(${file})
        has(one_thread one-thread)
        if(one_thread AND MEMOIR_SANITIZE STREQUAL "thread")
            continue()
        endif()
        get_filename_component(name ${file} NAME_WE)
        program(tool_${name} SOURCES ${file} $<TARGET_OBJECTS:memoir_base>
            LINK memoir_rooms FLAGS ${MEMOIR_WARNINGS})
        if(MEMOIR_SANITIZE)
            register(tool/${name} 300 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run
                sanitized ${MEMOIR_SANITIZE} $<TARGET_FILE:tool_${name}>)
        else()
            register(tool/${name} 120 ENVIRONMENT ${script_environment} COMMAND tool_${name})
        endif()
    endforeach()
endfunction()

function(discover_api)
    discover(api ${sources_pattern})
    foreach(file IN LISTS files)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        has(static static-too)
        has(linked_only linked-only)
        has(preload_only preload-only)
        has(unemulated not-emulated)
        has(no_musl not-musl)
        if((unemulated AND CMAKE_CROSSCOMPILING) OR (no_musl AND MEMOIR_LIBC STREQUAL "musl"))
            continue()
        endif()
        add_library(api_${name} OBJECT ${file})
        target_compile_options(api_${name} PRIVATE ${contract_flags}
            -I${PROJECT_SOURCE_DIR}/include/memoir/compat)
        set_target_properties(api_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        set(object $<TARGET_OBJECTS:api_${name}>)

        # A program that only calls strdup must get our malloc too, hence --undefined.
        set(archive -Wl,--undefined=malloc ${MEMOIR_ARCHIVE})
        # Another libc or machine repeats the linked ways only.
        if(NOT linked_only AND NOT CMAKE_CROSSCOMPILING AND NOT MEMOIR_LIBC STREQUAL "musl")
            way(${name} preload ${file} LINK "" ENVIRONMENT ${preload})
        endif()
        if(NOT preload_only)
            way(${name} shared ${file} LINK -Wl,--no-as-needed memoir_shared -Wl,--as-needed)
        endif()
        if(static)
            way(${name} static ${file} LINK -static ${archive})
            if(NOT MEMOIR_LIBC STREQUAL "musl") # its specs know no -static-pie
                way(${name} static-pie ${file} LINK -static-pie ${archive})
            endif()
        endif()
    endforeach()
endfunction()

# way(NAME WAY FILE LINK... ENVIRONMENT...): one of the ways in which an api test meets the library.
macro(way name way file)
    cmake_parse_arguments(way "" "" "LINK;ENVIRONMENT" ${ARGN})
    program(api_${name}_${way} SOURCES ${object} LINK ${way_LINK})
    if(${file} MATCHES "[.]cc$")
        set_target_properties(api_${name}_${way} PROPERTIES LINKER_LANGUAGE CXX)
    else()
        set_target_properties(api_${name}_${way} PROPERTIES LINKER_LANGUAGE C)
    endif()
    if(${way} STREQUAL "static" OR ${way} STREQUAL "static-pie")
        add_dependencies(api_${name}_${way} memoir_archive)
        set_target_properties(api_${name}_${way} PROPERTIES LINK_DEPENDS ${MEMOIR_ARCHIVE})
    endif()
    register(api/${name}.${way} 120 ENVIRONMENT ${way_ENVIRONMENT}
        COMMAND api_${name}_${way})
endmacro()

function(discover_misuse)
    set(runner ${CMAKE_CURRENT_SOURCE_DIR}/misuse/run)
    set(words "")
    register(misuse/control 60 COMMAND ${runner} --control)
    discover(misuse ${sources_pattern})
    foreach(file IN LISTS files)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        program(misuse_${name} SOURCES ${file} FLAGS ${contract_flags})
        register(misuse/${name} 120 COMMAND ${runner} $<TARGET_FILE:misuse_${name}>
            ${file} ${PROJECT_BINARY_DIR}/libmemoir.so)
    endforeach()
endfunction()

function(discover_programs)
    discover(programs *.sh)
    set(scripts ${files})
    foreach(file IN LISTS scripts)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        has(helper helper)
        if(NOT helper)
            register(programs/${name} 300 ENVIRONMENT ${script_environment} COMMAND ${file})
        endif()
    endforeach()
    discover(programs ${sources_pattern})
    foreach(file IN LISTS files)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        has(helper helper)
        if(NOT helper AND NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/programs/${name}.sh)
            program(programs_${name} SOURCES ${file} FLAGS ${contract_flags})
            register(programs/${name} 120 ENVIRONMENT ${script_environment} ${preload}
                COMMAND programs_${name})
        endif()
    endforeach()
endfunction()

function(discover_stress)
    discover(stress ${sources_pattern})
    foreach(file IN LISTS files)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        has(helper helper)
        if(NOT helper)
            program(stress_${name} SOURCES ${file} FLAGS ${contract_flags} -O2)
            register(stress/${name} 600 ENVIRONMENT ${script_environment} ${preload}
                MEMOIR_STRESS_SHORT=1 COMMAND stress_${name})
        endif()
    endforeach()
endfunction()

# discover_scripts(FOLDER TIMEOUT [SERIAL]): every script of the folder but helpers is a test; with a
# sanitizer or an emulator, those that say so.
function(discover_scripts folder timeout)
    discover(${folder} *.sh)
    foreach(file IN LISTS files)
        words(${file})
        get_filename_component(name ${file} NAME_WE)
        has(sanitized sanitized-too)
        has(emulated emulated-too)
        has(helper helper)
        if(helper OR (CMAKE_CROSSCOMPILING AND NOT emulated))
            continue()
        endif()
        if(NOT MEMOIR_SANITIZE)
            register(${folder}/${name} ${timeout} ${ARGN} ENVIRONMENT ${script_environment}
                COMMAND ${file})
        elseif(sanitized)
            register(${folder}/${name} ${timeout} ${ARGN} ENVIRONMENT ${script_environment}
                COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run sanitized-tool ${MEMOIR_SANITIZE} ${file})
        endif()
    endforeach()
endfunction()

function(discover_tidy)
    set(words "")
    foreach(checker rooms lengths order words symbols docs)
        register(tidy/${checker} 120 ENVIRONMENT ${script_environment}
            COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tidy/${checker} ${PROJECT_SOURCE_DIR})
        register(tidy/${checker}-control 120 ENVIRONMENT ${script_environment}
            COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tidy/control ${checker})
    endforeach()
endfunction()

function(discover_install)
    set(words "")
    foreach(way pkgconfig-shared pkgconfig-static cmake-shared cmake-static names as)
        register(install/${way} 300 ENVIRONMENT ${script_environment}
            COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/run ${way} ${PROJECT_BINARY_DIR})
    endforeach()
endfunction()

# The benchmark's gate has its own positive control.
function(discover_bench)
    set(words "")
    if(EXISTS ${PROJECT_SOURCE_DIR}/bench/selftest.py)
        register(bench/self-test 120 ENVIRONMENT ${script_environment}
            COMMAND ${PROJECT_SOURCE_DIR}/bench/run --self-test)
    endif()
endfunction()
