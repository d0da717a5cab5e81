# SPDX-License-Identifier: MIT
#
# The library names of other allocators (packaging/names/names.def), in build/compat: for each row a
# library of that SONAME that has the marks of its face and mode and needs libmemoir.so. Its run path
# is its own folder, which has a link to libmemoir.so: so LD_PRELOAD=.../libtcmalloc.so works, too.
#
# It is a filter of libmemoir.so (DT_FILTER): the loader puts libmemoir.so before it in the order of
# search. A library that is merely needed comes after libc, and malloc would be libc's. musl's loader
# knows no filters, so there the names are links to libmemoir.so, without marks.
set(compat_dir ${PROJECT_BINARY_DIR}/compat)
set(names_def ${PROJECT_SOURCE_DIR}/packaging/names/names.def)
set(names_layout ${PROJECT_SOURCE_DIR}/packaging/names/names.ld)
set(exports_script ${PROJECT_SOURCE_DIR}/cmake/exports.cmake)
set(exports ${PROJECT_BINARY_DIR}/exports.s)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names_def})

file(MAKE_DIRECTORY ${compat_dir})
file(CREATE_LINK ../libmemoir.so.${MEMOIR_SOVERSION} ${compat_dir}/libmemoir.so.${MEMOIR_SOVERSION} SYMBOLIC)
file(STRINGS ${names_def} rows REGEX "^NAME\\(")
if(MEMOIR_LIBC STREQUAL "glibc")
    add_custom_command(
        OUTPUT ${exports}
        COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARY=$<TARGET_FILE:memoir_shared> -DOUTPUT=${exports}
            -P ${exports_script}
        DEPENDS memoir_shared ${exports_script}
        COMMENT "Listing what libmemoir.so exports"
        VERBATIM)
    enable_language(ASM)
    add_library(memoir_exports OBJECT ${exports})
endif()
foreach(row IN LISTS rows)
    string(REGEX MATCH "^NAME.([a-z_]+), ([0-9]+), ([a-z]+), ([a-z]+)" all ${row})
    set(name ${CMAKE_MATCH_1})
    set(number ${CMAKE_MATCH_2})
    set(face ${CMAKE_MATCH_3})
    set(mode ${CMAKE_MATCH_4})
    if(NOT MEMOIR_LIBC STREQUAL "glibc")
        list(APPEND name_links lib${name}.so lib${name}.so.${number})
        list(REMOVE_DUPLICATES name_links)
        continue()
    endif()
    set(file ${name})
    if(TARGET name_${name})
        set(name ${name}-${number})
    endif()
    add_library(name_${name} SHARED packaging/names/name.c $<TARGET_OBJECTS:memoir_exports>)
    target_compile_definitions(name_${name} PRIVATE FACE=${face} MODE=${mode} SONAME="lib${file}.so.${number}")
    target_link_options(name_${name} PRIVATE -nostdlib -Wl,-T,${names_layout}
        -Wl,--filter=libmemoir.so.${MEMOIR_SOVERSION})
    target_link_libraries(name_${name} PRIVATE -Wl,--no-as-needed memoir_shared)
    set_target_properties(name_${name} PROPERTIES OUTPUT_NAME ${file}
        LIBRARY_OUTPUT_DIRECTORY ${compat_dir} LINK_DEPENDS ${names_layout}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
    if(name STREQUAL file)
        set_target_properties(name_${name} PROPERTIES SOVERSION ${number})
    else()
        set_target_properties(name_${name} PROPERTIES SUFFIX .so.${number} NO_SONAME ON)
        target_link_options(name_${name} PRIVATE -Wl,-soname,lib${file}.so.${number})
        file(MAKE_DIRECTORY ${compat_dir}/${name})
        file(CREATE_LINK ../lib${file}.so.${number} ${compat_dir}/${name}/lib${file}.so SYMBOLIC)
        set(own ${compat_dir}/${name}/libmemoir.so.${MEMOIR_SOVERSION})
        file(CREATE_LINK ../libmemoir.so.${MEMOIR_SOVERSION} ${own} SYMBOLIC)
        list(APPEND second_names ${name})
    endif()
    list(APPEND name_targets name_${name})
endforeach()

# libprofiler.so: gperftools' CPU profiler alone, for programs that keep their own malloc. It is linked from
# the rooms below lib/api, none of which defines malloc, a file of it that does not either, and keeps
# only what the profiler's functions reach (--gc-sections).
set(profiler_objects $<TARGET_OBJECTS:memoir_base> $<TARGET_OBJECTS:memoir_window>
    $<TARGET_OBJECTS:memoir_alloc> $<TARGET_OBJECTS:memoir_watch>
    $<TARGET_OBJECTS:memoir_heap> $<TARGET_OBJECTS:memoir_cpu> $<TARGET_OBJECTS:memoir_leak> $<TARGET_OBJECTS:memoir_guard>
    $<TARGET_OBJECTS:memoir_dump>
    $<FILTER:$<TARGET_OBJECTS:memoir_process>,INCLUDE,process/environment|process/next|process/memory>
    $<FILTER:$<TARGET_OBJECTS:memoir_faces>,INCLUDE,gperftools/profiler|gperftools/cpuprofile>)
add_library(memoir_profiler SHARED packaging/names/name.c packaging/names/profiler_alone.c ${profiler_objects}
    $<FILTER:$<TARGET_OBJECTS:memoir_process>,INCLUDE,process/sleep>
    $<FILTER:$<TARGET_OBJECTS:memoir_api>,INCLUDE,api/thread_start>)
target_compile_options(memoir_profiler PRIVATE ${MEMOIR_LIBRARY_FLAGS})
target_compile_definitions(memoir_profiler PRIVATE FACE=gperftools MODE=cpu SONAME="libprofiler.so.0")
target_link_options(memoir_profiler PRIVATE -Wl,--gc-sections -Wl,--no-undefined -Wl,-z,nodelete
    -Wl,-Bsymbolic-functions -Wl,-z,now -Wl,-z,relro -Wl,--as-needed)
set_target_properties(memoir_profiler PROPERTIES OUTPUT_NAME profiler SOVERSION 0
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${compat_dir})
list(APPEND name_targets memoir_profiler)

# libprofiler.a: the same as one object, as libmemoir.a is. It wraps neither pthread_create nor poll, which a
# static program must get from its own libc: threads are found by the scan for them, ten times a second.
# Of a weak symbol that nothing is left to use, ld -r makes one that is needed: weakened again.
set(profiler_archive ${compat_dir}/libprofiler.a)
set(profiler_object ${PROJECT_BINARY_DIR}/profiler.o)
set(profiler_names)
foreach(name Start StartWithOptions Stop Flush Enable Disable RegisterThread GetCurrentState GetStackTrace)
    list(APPEND profiler_names -u Profiler${name})
endforeach()
add_custom_command(
    OUTPUT ${profiler_archive}
    COMMAND ${CMAKE_LINKER} -r --gc-sections ${profiler_names} -u ProfilingIsEnabledForAllThreads
        -o ${profiler_object} "$<TARGET_OBJECTS:memoir_profiler>" "${profiler_objects}"
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --weaken-symbol=__cxa_demangle ${profiler_object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${profiler_archive}
    COMMAND ${CMAKE_AR} rcsD ${profiler_archive} ${profiler_object}
    DEPENDS memoir_profiler $<TARGET_OBJECTS:memoir_profiler> ${profiler_objects}
    COMMENT "Linking libprofiler.a (hidden symbols localised)"
    COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(profiler_archive ALL DEPENDS ${profiler_archive})
