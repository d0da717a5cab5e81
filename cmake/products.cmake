# SPDX-License-Identifier: MIT
#
# libmemoir.so, libmemoir.a and the tool (tool.cmake), all three straight into the top of the build tree.
# The order matters for gaps in the thread-local memory, which is exactly as large as it may be.
set(library_objects $<TARGET_OBJECTS:memoir_base> $<TARGET_OBJECTS:memoir_alloc>
    $<TARGET_OBJECTS:memoir_window> $<TARGET_OBJECTS:memoir_watch> $<TARGET_OBJECTS:memoir_heap>
    $<TARGET_OBJECTS:memoir_cpu>
    $<TARGET_OBJECTS:memoir_leak> $<TARGET_OBJECTS:memoir_guard> $<TARGET_OBJECTS:memoir_dump>
    $<TARGET_OBJECTS:memoir_process> $<TARGET_OBJECTS:memoir_api> $<TARGET_OBJECTS:memoir_control>
    $<TARGET_OBJECTS:memoir_faces>)

# The shared library: libc alone (--no-undefined), never unloaded (nodelete).
add_library(memoir_shared SHARED ${library_objects})
set_target_properties(memoir_shared PROPERTIES
    OUTPUT_NAME memoir
    LINKER_LANGUAGE C
    SOVERSION ${MEMOIR_SOVERSION}
    EXPORT_NAME memoir
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_options(memoir_shared PRIVATE -Wl,-z,nodelete -Wl,-Bsymbolic-functions -Wl,--no-undefined
    -Wl,-z,now -Wl,-z,relro -Wl,--as-needed -Wl,--sort-section=name)
# The kernel brings pages of a file in by 64 KiB of addresses: segments that begin there fill them.
target_link_options(memoir_shared PRIVATE -Wl,-z,max-page-size=65536)
# What small programs run stands together, where the linker can do that.
include(CheckLinkerFlag)
set(first_functions ${PROJECT_SOURCE_DIR}/cmake/first.ld)
check_linker_flag(C "-Wl,-T,${first_functions}" MEMOIR_ORDERS_FUNCTIONS)
if(MEMOIR_ORDERS_FUNCTIONS)
    target_link_options(memoir_shared PRIVATE -Wl,-T,${first_functions})
    set_target_properties(memoir_shared PROPERTIES LINK_DEPENDS ${first_functions})
endif()
target_include_directories(memoir_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# deepbind.c wraps dlopen, disposition.c sigaction, sandbox.c prctl, privilege.c setuid, limits.c setrlimit, madvise.c madvise, redirect.c dup2, sleep.c poll and thread_start.c pthread_create, which a static program must get
# from its own libc; operators.c asks the loader; profiler.c stands before libprofiler, whose archive has the same names.
set(archive_objects "$<FILTER:${library_objects},EXCLUDE,deepbind|disposition|process/sandbox|process/privilege|process/limits|process/madvise|process/redirect|process/sleep|api/thread_start|process/operators|gperftools/profiler>")

# The archive: one relocatable object in which only the exported names are left global, so that
# our short internal names (span_new, lock) can not meet a program's; and a second one with the
# names of C++'s operators, for programs that use them (packaging/archive/operators.c).
file(STRINGS ${PROJECT_SOURCE_DIR}/packaging/archive/operators.def operators REGEX "_Z")
string(REGEX REPLACE "[A-Z_]+.(_Z[^)]*)." "--redefine-sym=\\1=memoir_operator\\1" rename_operators
    "${operators}")
set(MEMOIR_ARCHIVE ${PROJECT_BINARY_DIR}/libmemoir.a)
set(relocatable ${PROJECT_BINARY_DIR}/memoir.o)
add_custom_command(
    OUTPUT ${MEMOIR_ARCHIVE}
    COMMAND ${CMAKE_LINKER} -r -o ${relocatable} "${archive_objects}"
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${rename_operators} ${relocatable}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${MEMOIR_ARCHIVE}
    COMMAND ${CMAKE_AR} rcsD ${MEMOIR_ARCHIVE} ${relocatable}
        $<TARGET_OBJECTS:memoir_operators>
    DEPENDS ${library_objects} $<TARGET_OBJECTS:memoir_operators>
    COMMENT "Linking libmemoir.a (hidden symbols localised)"
    COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(memoir_archive ALL DEPENDS ${MEMOIR_ARCHIVE})

include(cmake/names.cmake)
include(cmake/tool.cmake)

# What `./dev build` asks for; `all` has the test programs as well.
add_custom_target(products DEPENDS memoir_shared memoir_archive ${name_targets})
if(TARGET profiler_archive)
    add_dependencies(products profiler_archive)
endif()
if(TARGET memoir_tool)
    add_dependencies(products memoir_tool memoir_completions)
endif()
