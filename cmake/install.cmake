# SPDX-License-Identifier: MIT
#
# What `cmake --install` puts where. Both package descriptions find the prefix from their own
# place, so the tree can be moved after it was installed.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/memoir)
install(TARGETS memoir_shared EXPORT memoirTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${MEMOIR_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/memoir
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The library names of other allocators (cmake/names.cmake), in a folder of their own: programs find them
# by -L or LD_LIBRARY_PATH only. They look for libmemoir.so beside themselves, so a link to it is there.
set(compat_links ${PROJECT_BINARY_DIR}/compat_links)
if(name_targets)
    install(TARGETS ${name_targets} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat)
endif()
set(own_name libmemoir.so.${MEMOIR_SOVERSION})
file(MAKE_DIRECTORY ${compat_links})
foreach(link ${own_name} ${name_links})
    file(CREATE_LINK ../../${own_name} ${compat_links}/${link} SYMBOLIC)
    install(FILES ${compat_links}/${link} DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat)
endforeach()
# Archives under these names, for -static: each is ours. libprofiler.a is one of its own (names.cmake).
if(TARGET profiler_archive)
    install(FILES ${profiler_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat)
    # Both in one: a script of the linker, which names the two.
    file(WRITE ${compat_links}/libtcmalloc_and_profiler.a
        "/* GNU ld script, of memoir/compat */\nINPUT(libtcmalloc.a libprofiler.a)\n")
    install(FILES ${compat_links}/libtcmalloc_and_profiler.a
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat)
endif()
foreach(name jemalloc jemalloc_pic mimalloc tcmalloc tcmalloc_minimal tcmalloc_debug tcmalloc_minimal_debug)
    file(CREATE_LINK ../../libmemoir.a ${compat_links}/lib${name}.a SYMBOLIC)
    install(FILES ${compat_links}/lib${name}.a DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat)
endforeach()
# mimalloc's object file, which programs name first when they are linked: the one in our archive.
install(FILES ${relocatable} DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat RENAME mimalloc.o)
foreach(folder ${second_names})
    install(DIRECTORY ${compat_dir}/${folder} DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat)
endforeach()
set(compat_bin ${CMAKE_INSTALL_LIBDIR}/memoir/compat/bin)
file(MAKE_DIRECTORY ${compat_links}/bin)
configure_file(packaging/jemalloc-config.in ${compat_links}/bin/jemalloc-config @ONLY)
install(PROGRAMS ${compat_links}/bin/jemalloc-config packaging/jemalloc.sh DESTINATION ${compat_bin})
if(TARGET memoir_tool)
    install(TARGETS memoir_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # The names of the old commands, for users who put this folder into PATH.
    file(RELATIVE_PATH tool_from_compat ${CMAKE_INSTALL_PREFIX}/${compat_bin}
        ${CMAKE_INSTALL_FULL_BINDIR}/memoir)
    foreach(name jeprof google-pprof pprof flamegraph.pl difffolded.pl)
        file(CREATE_LINK ${tool_from_compat} ${compat_links}/bin/${name} SYMBOLIC)
        install(FILES ${compat_links}/bin/${name} DESTINATION ${compat_bin})
    endforeach()
    install(FILES ${completions}/memoir
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${completions}/_memoir DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${completions}/memoir.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
file(GLOB man_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[1-8])
foreach(page IN LISTS man_pages)
    string(REGEX MATCH "[1-8]$" section ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# pkg-config
file(RELATIVE_PATH MEMOIR_PREFIX_FROM_PC
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" MEMOIR_PREFIX_FROM_PC ${MEMOIR_PREFIX_FROM_PC})
configure_file(packaging/memoir.pc.in ${PROJECT_BINARY_DIR}/memoir.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/memoir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# Descriptions of the other names, in their folder. Linked programs look for the library there.
set(compat_pc ${CMAKE_INSTALL_LIBDIR}/memoir/compat/pkgconfig)
file(RELATIVE_PATH MEMOIR_PREFIX_FROM_COMPAT_PC
    ${CMAKE_INSTALL_FULL_LIBDIR}/memoir/compat/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" MEMOIR_PREFIX_FROM_COMPAT_PC ${MEMOIR_PREFIX_FROM_COMPAT_PC})
foreach(row IN ITEMS jemalloc:jemalloc:5.3.0 libtcmalloc:tcmalloc:2.10 libtcmalloc_minimal:tcmalloc_minimal:2.10
        libtcmalloc_debug:tcmalloc_debug:2.10 libtcmalloc_minimal_debug:tcmalloc_minimal_debug:2.10
        libtcmalloc_and_profiler:tcmalloc_and_profiler:2.10 libprofiler:profiler:2.10)
    string(REGEX MATCH "^(.+):(.+):(.+)$" all ${row})
    set(PC_NAME ${CMAKE_MATCH_1})
    set(PC_LIBRARY ${CMAKE_MATCH_2})
    set(PC_VERSION ${CMAKE_MATCH_3})
    set(PC_OF gperftools)
    if(PC_NAME STREQUAL jemalloc)
        set(PC_OF jemalloc)
    endif()
    configure_file(packaging/name.pc.in ${compat_links}/${PC_NAME}.pc @ONLY)
    install(FILES ${compat_links}/${PC_NAME}.pc DESTINATION ${compat_pc})
endforeach()
# mimalloc's descriptions of its releases 2 and 3.
foreach(release IN ITEMS 2.4.1: 3.4.3:/mimalloc-3)
    string(REGEX MATCH "^([0-9.]+):(.*)" all ${release})
    set(MIMALLOC_VERSION ${CMAKE_MATCH_1})
    set(MIMALLOC_FOLDER ${CMAKE_MATCH_2})
    string(REPLACE "/mimalloc" "" suffix "${MIMALLOC_FOLDER}")
    configure_file(packaging/mimalloc.pc.in ${compat_links}/mimalloc${suffix}.pc @ONLY)
    install(FILES ${compat_links}/mimalloc${suffix}.pc DESTINATION ${compat_pc})
endforeach()
configure_package_config_file(packaging/mimalloc-config.cmake.in ${compat_links}/mimalloc-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat/cmake
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
install(FILES ${compat_links}/mimalloc-config.cmake packaging/mimalloc-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/memoir/compat/cmake)

# find_package(memoir): memoir::memoir is the shared library, memoir::static the archive.
configure_package_config_file(packaging/memoirConfig.cmake.in
    ${PROJECT_BINARY_DIR}/memoirConfig.cmake
    INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/memoirConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(EXPORT memoirTargets NAMESPACE memoir:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/memoirConfig.cmake
    ${PROJECT_BINARY_DIR}/memoirConfigVersion.cmake DESTINATION ${package_dir})
