# harness/core/version.h, generated. Included by CMake it defines the target assay_version; run by
# `cmake -P` (at every build, by that target) it writes the header, if its text has changed.

if(NOT CMAKE_SCRIPT_MODE_FILE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
    get_target_property(options assay_flags INTERFACE_COMPILE_OPTIONS)
    list(FILTER options EXCLUDE REGEX "-prefix-map=|^\\$<|^-W")
    list(JOIN options " " flags)
    set(flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}} ${flags}")
    string(REGEX REPLACE " +" " " flags "${flags}")
    string(STRIP "${flags}" flags)

    set(generated ${PROJECT_BINARY_DIR}/generated)
    add_custom_target(assay_version
        COMMAND ${CMAKE_COMMAND}
            "-DASSAY_SOURCE=${PROJECT_SOURCE_DIR}"
            "-DASSAY_HEADER=${generated}/harness/core/version.h"
            "-DASSAY_VERSION=${PROJECT_VERSION}"
            "-DASSAY_COMPILER_ID=${CMAKE_C_COMPILER_ID}"
            "-DASSAY_COMPILER_VERSION=${CMAKE_C_COMPILER_VERSION}"
            "-DASSAY_BUILD_TYPE=${CMAKE_BUILD_TYPE}"
            "-DASSAY_BUILD_FLAGS=${flags}"
            "-DASSAY_BUILD_PROCESSOR=${CMAKE_SYSTEM_PROCESSOR}"
            -P ${CMAKE_CURRENT_LIST_FILE}
        BYPRODUCTS ${generated}/harness/core/version.h
        COMMENT "Version and commit" VERBATIM)
    add_dependencies(assay_core assay_version)
    target_include_directories(assay_core INTERFACE ${generated})
    return()
endif()

# Sets ASSAY_COMMIT from the files under .git, for a machine that has the checkout but no git.
function(read_commit_without_git)
    if(NOT EXISTS ${ASSAY_SOURCE}/.git/HEAD)
        return()
    endif()
    file(STRINGS ${ASSAY_SOURCE}/.git/HEAD head LIMIT_COUNT 1)
    if(head MATCHES "^ref: (.+)$")
        set(ref ${CMAKE_MATCH_1})
        set(head "")
        if(EXISTS ${ASSAY_SOURCE}/.git/${ref})
            file(STRINGS ${ASSAY_SOURCE}/.git/${ref} head LIMIT_COUNT 1)
        elseif(EXISTS ${ASSAY_SOURCE}/.git/packed-refs)
            file(STRINGS ${ASSAY_SOURCE}/.git/packed-refs lines REGEX " ${ref}$")
            string(REGEX MATCH "^[0-9a-f]+" head "${lines}")
        endif()
    endif()
    if(head MATCHES "^[0-9a-f]+$")
        set(ASSAY_COMMIT ${head} PARENT_SCOPE)
    endif()
endfunction()

set(ASSAY_COMMIT "")
set(ASSAY_DIRTY -1)
find_program(GIT git)
if(GIT AND EXISTS ${ASSAY_SOURCE}/.git)
    # The owner check is for hooks and configuration, neither of which runs here.
    set(git ${GIT} --no-optional-locks -c safe.directory=* -c core.fsmonitor=false -C ${ASSAY_SOURCE})
    execute_process(COMMAND ${git} rev-parse HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed)
        set(ASSAY_COMMIT ${commit})
        execute_process(COMMAND ${git} status --porcelain --untracked-files=no
            OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
        if(NOT failed)
            set(ASSAY_DIRTY 0)
            if(changes)
                set(ASSAY_DIRTY 1)
            endif()
        endif()
    endif()
endif()
if(NOT ASSAY_COMMIT)
    read_commit_without_git()
endif()

set(ASSAY_VERSION_TEXT ${ASSAY_VERSION})
if(ASSAY_COMMIT)
    string(SUBSTRING ${ASSAY_COMMIT} 0 12 short)
    if(ASSAY_DIRTY EQUAL 1)
        string(APPEND short ", modified")
    endif()
    string(APPEND ASSAY_VERSION_TEXT " (${short})")
endif()
string(REPLACE "\\" "\\\\" ASSAY_BUILD_FLAGS "${ASSAY_BUILD_FLAGS}")
string(REPLACE "\"" "\\\"" ASSAY_BUILD_FLAGS "${ASSAY_BUILD_FLAGS}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${ASSAY_HEADER} @ONLY)
