# SPDX-License-Identifier: MIT
#
# The tool: an ordinary program. It shares base/ with the library and nothing else. In builds with a
# sanitizer it is there for the tests of tests/golden that say so, and uses the library of the
# release build, which is beside it as a link.
if(TARGET memoir_rooms)
    file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tool/*.c
        ${PROJECT_SOURCE_DIR}/tool/command/*.c ${PROJECT_SOURCE_DIR}/tool/record/*.c)
    add_executable(memoir_tool ${tool_sources} $<TARGET_OBJECTS:memoir_base>)
    target_compile_options(memoir_tool PRIVATE ${MEMOIR_WARNINGS})
    target_compile_definitions(memoir_tool PRIVATE MEMOIR_LIBDIR="${CMAKE_INSTALL_FULL_LIBDIR}")
    target_link_libraries(memoir_tool PRIVATE memoir_rooms)
    target_link_options(memoir_tool PRIVATE -Wl,--as-needed)
    set_target_properties(memoir_tool PROPERTIES
        OUTPUT_NAME memoir
        POSITION_INDEPENDENT_CODE ON
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

    if(MEMOIR_SANITIZE)
        file(CREATE_LINK ${PROJECT_SOURCE_DIR}/build/libmemoir.so ${PROJECT_BINARY_DIR}/libmemoir.so
            SYMBOLIC)
        return()
    endif()

    # The tool writes its own completions.
    set(completions ${PROJECT_BINARY_DIR}/completions)
    file(MAKE_DIRECTORY ${completions})
    add_custom_command(
        OUTPUT ${completions}/memoir ${completions}/_memoir ${completions}/memoir.fish
        COMMAND memoir_tool completion bash > ${completions}/memoir
        COMMAND memoir_tool completion zsh > ${completions}/_memoir
        COMMAND memoir_tool completion fish > ${completions}/memoir.fish
        DEPENDS memoir_tool
        COMMENT "Writing the completions of bash, zsh and fish"
        VERBATIM)
    add_custom_target(memoir_completions ALL DEPENDS ${completions}/memoir)
endif()
