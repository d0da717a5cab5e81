# SPDX-License-Identifier: MIT
#
# The rooms of the tool: a library of objects, which the tool and tests/tool link. Libraries that few
# commands need (graphviz, curl, debuginfod, libedit, capstone, liblzma) are opened by those commands: only
# their headers count here.
if(NOT CMAKE_CROSSCOMPILING AND MEMOIR_LIBC STREQUAL "glibc")
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(TOOL REQUIRED IMPORTED_TARGET libdw libelf zlib libzstd libpcre2-8)
    pkg_check_modules(TOOL_OPENED REQUIRED libcgraph libcurl libdebuginfod libedit capstone liblzma)
    find_library(IBERTY NAMES libiberty_pic.a libiberty.a REQUIRED)
    find_path(IBERTY_INCLUDE NAMES libiberty/demangle.h REQUIRED)

    file(GLOB room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tool/*/*.c
        ${PROJECT_SOURCE_DIR}/tool/*/*/*.c)
    list(FILTER room_sources EXCLUDE REGEX "/tool/(command|record)/") # the table names the verbs, above
    # What makes pictures answer is JavaScript, and part of the program.
    set(embed ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
    foreach(pair picture/flame.js:flame_script picture/flame_alone.js:flame_alone_script
            page/page.js:page_script page/page.css:page_style)
        string(REPLACE ":" ";" pair ${pair})
        list(GET pair 0 from)
        list(GET pair 1 name)
        add_custom_command(
            OUTPUT ${PROJECT_BINARY_DIR}/${name}.c
            COMMAND ${CMAKE_COMMAND} -DINPUT=${PROJECT_SOURCE_DIR}/tool/report/${from}
                -DOUTPUT=${PROJECT_BINARY_DIR}/${name}.c -DNAME=${name} -P ${embed}
            DEPENDS ${PROJECT_SOURCE_DIR}/tool/report/${from} ${embed}
            VERBATIM)
        list(APPEND embedded ${PROJECT_BINARY_DIR}/${name}.c)
    endforeach()
    add_library(memoir_rooms OBJECT ${room_sources} ${embedded})
    target_compile_options(memoir_rooms PRIVATE ${MEMOIR_WARNINGS})
    set_target_properties(memoir_rooms PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(memoir_rooms SYSTEM PUBLIC ${IBERTY_INCLUDE} ${TOOL_OPENED_INCLUDE_DIRS})
    target_link_libraries(memoir_rooms PUBLIC PkgConfig::TOOL ${IBERTY} Threads::Threads m
        ${CMAKE_DL_LIBS})
endif()
