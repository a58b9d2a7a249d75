# For cross-builds: the libraries of the build machine can't be linked, so header-only ones are
# used as headers, and GoogleTest is built from the sources of Debian's package. Only the modules up
# to `kernels` are built: the rest holds no code that depends on the processor.
list(FILTER whinchat_module_lines INCLUDE REGEX "^(base|tensor|kernels)( |$)")

# A folder of its own for the headers: /usr/include itself would hide the target's C library.
set(header_folder ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${header_folder})
file(CREATE_LINK /usr/include/fmt ${header_folder}/fmt SYMBOLIC)
add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
target_include_directories(fmt::fmt SYSTEM INTERFACE ${header_folder})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

if(WHINCHAT_BUILD_TESTS)
    enable_testing()
    set(INSTALL_GTEST OFF)
    add_subdirectory(
        /usr/src/googletest
        ${PROJECT_BINARY_DIR}/googletest
        EXCLUDE_FROM_ALL
    )
endif()
