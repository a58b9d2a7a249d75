# whinchat_module(NAME SOURCES ... [LIBRARIES ...]): one static library per folder of src/.
# Its links follow src/MODULES, so a module can't use what its line does not list.
# whinchat_test(NAME SOURCES ... [LIBRARIES ...]): one GoogleTest program per folder of tests/.

# The instruction set of a kernel file is the suffix of its name, and so are its flags.
set(WHINCHAT_ISA_FLAGS_scalar "-fno-tree-vectorize")
set(WHINCHAT_ISA_FLAGS_avx2 "-mavx2 -mfma -mf16c -mbmi2")
set(WHINCHAT_ISA_FLAGS_avxvnni "-mavx2 -mfma -mf16c -mbmi2 -mavxvnni")
set(WHINCHAT_ISA_FLAGS_avx512vnni
    "-mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mprefer-vector-width=512"
)
set(WHINCHAT_ISA_FLAGS_amx
    "${WHINCHAT_ISA_FLAGS_avx512vnni} -mamx-tile -mamx-int8"
)
set(WHINCHAT_ISA_FLAGS_neon "-march=armv8-a")
set(WHINCHAT_ISA_FLAGS_dotprod "-march=armv8.2-a+dotprod+fp16")
set(WHINCHAT_ISA_FLAGS_i8mm "-march=armv8.2-a+dotprod+fp16+i8mm")
set(WHINCHAT_X86_ISAS avx2 avxvnni avx512vnni amx)
set(WHINCHAT_ARM_ISAS neon dotprod i8mm)

file(
    STRINGS ${PROJECT_SOURCE_DIR}/src/MODULES
    whinchat_module_lines
    REGEX "^[a-z]"
)

function(whinchat_module_dependencies name result)
    set(dependencies base)
    foreach(line IN LISTS whinchat_module_lines)
        string(REGEX MATCHALL "[a-z_*]+" words "${line}")
        list(POP_FRONT words module)
        if(module STREQUAL name)
            if(words STREQUAL "*")
                set(words ${whinchat_modules_so_far})
            endif()
            list(APPEND dependencies ${words})
        endif()
        list(APPEND whinchat_modules_so_far ${module})
    endforeach()
    list(REMOVE_ITEM dependencies ${name})
    list(REMOVE_DUPLICATES dependencies)
    list(TRANSFORM dependencies PREPEND whinchat_)
    set(${result} ${dependencies} PARENT_SCOPE)
endfunction()

# Keeps the files of this machine's architecture and gives each its ISA's flags.
function(whinchat_select_isa_sources result)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        set(native_isas scalar ${WHINCHAT_ARM_ISAS})
    else()
        set(native_isas scalar ${WHINCHAT_X86_ISAS})
    endif()
    foreach(source IN LISTS ARGN)
        if(
            source
                MATCHES
                "_(scalar|avx2|avxvnni|avx512vnni|amx|neon|dotprod|i8mm)\\.cc$"
        )
            if(NOT CMAKE_MATCH_1 IN_LIST native_isas)
                continue()
            endif()
            set_source_files_properties(
                ${source}
                PROPERTIES
                    COMPILE_FLAGS "${WHINCHAT_ISA_FLAGS_${CMAKE_MATCH_1}}"
            )
        endif()
        list(APPEND selected ${source})
    endforeach()
    set(${result} ${selected} PARENT_SCOPE)
endfunction()

function(whinchat_module name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
    whinchat_select_isa_sources(sources ${ARG_SOURCES})
    add_library(whinchat_${name} STATIC ${sources})
    whinchat_module_dependencies(${name} listed_dependencies)
    # Modules come low to high, so one that is no target by now has no CMakeLists.txt yet.
    foreach(dependency IN LISTS listed_dependencies)
        if(TARGET ${dependency})
            list(APPEND dependencies ${dependency})
        endif()
    endforeach()
    target_include_directories(
        whinchat_${name}
        PUBLIC ${PROJECT_SOURCE_DIR}/src
    )
    target_link_libraries(
        whinchat_${name}
        PUBLIC ${dependencies} ${ARG_LIBRARIES}
    )
    target_link_libraries(whinchat_${name} PRIVATE whinchat_warnings)
endfunction()

# What tools/fetch_test_models.py fetched; tests that need it are skipped without it.
set(WHINCHAT_TEST_MODELS_DIR
    "${PROJECT_SOURCE_DIR}/build/testdata"
    CACHE PATH
    "Where tests find the models and texts that tools/fetch_test_models.py fetches"
)

function(whinchat_test name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
    if(NOT WHINCHAT_BUILD_TESTS)
        return()
    endif()
    add_executable(${name}_test ${ARG_SOURCES})
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(
        ${name}_test
        PRIVATE
            WHINCHAT_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests"
            WHINCHAT_TEST_MODELS_DIR="${WHINCHAT_TEST_MODELS_DIR}"
    )
    target_link_libraries(
        ${name}_test
        PRIVATE
            ${ARG_LIBRARIES}
            whinchat_warnings
            GTest::gtest_main
            GTest::gmock
    )
    add_test(NAME ${name} COMMAND ${name}_test)
endfunction()
