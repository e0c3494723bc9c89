# SPDX-License-Identifier: Apache-2.0
# What every target of ours has in common, and where unit tests and fuzz targets are added.
option(MILLRACE_TESTS "Build unit tests, end-to-end tests and benchmarks" ON)
option(MILLRACE_FUZZ "Build the *_fuzz.cc files as libFuzzer programs (clang only)" OFF)
set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address,undefined")

# After so many times the usual a test hangs, it is not slow.
set(MILLRACE_PATIENCE 1)
if(MILLRACE_SANITIZE)
  set(MILLRACE_PATIENCE 4)
endif()
# millrace_time_limit(SECONDS TEST...): for a build without sanitizers. What a test itself waits for
# goes by the variable MILLRACE_PATIENCE.
function(millrace_time_limit seconds)
  math(EXPR limit "${seconds} * ${MILLRACE_PATIENCE}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${limit}
                       ENVIRONMENT MILLRACE_PATIENCE=${MILLRACE_PATIENCE})
endfunction()

set(MILLRACE_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Werror)

if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
  # g++ 12 sees overruns in std::string where instrumented code hides the lengths from it (the
  # release build, which has the same sources, keeps the warnings). clang++ does not, and refuses
  # the name of a warning that it has not.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND MILLRACE_WARNINGS -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()
# Libraries too: a fuzzer that sees coverage of its own file only throws its inputs blindly.
if(MILLRACE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# millrace_join(NAME REGEX file...): the files of NAME are compiled sixteen at a time, but for those
# that match REGEX ("": none). Three quarters of a build's time go into headers, which are read once this way.
# So names in anonymous namespaces have to differ within a target; where files give the same things
# the same names on purpose (the options of a command, the registers of a device), they stay apart.
set(MILLRACE_JOIN_SIZE 16 CACHE STRING "So many files at a time; 0: all of a target")
option(MILLRACE_JOIN "Compile the files of a target together" ON)
function(millrace_join name regex)
  if(NOT MILLRACE_JOIN)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${MILLRACE_JOIN_SIZE})
  # Joined files are not "main" to g++, which then takes an anonymous namespace for a header's.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  if(regex)
    set(apart ${ARGN})
    list(FILTER apart INCLUDE REGEX "${regex}")
    set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# millrace_library(NAME SOURCES file... [INCLUDE dir...] [LINK target...] [FREESTANDING] [APART regex])
function(millrace_library name)
  cmake_parse_arguments(ARG "FREESTANDING" "APART" "SOURCES;INCLUDE;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(NOT ARG_FREESTANDING)  # those are small, and an image takes their objects one by one
    millrace_join(${name} "${ARG_APART}" ${ARG_SOURCES})
  endif()
  target_compile_options(${name} PRIVATE ${MILLRACE_WARNINGS})
  target_include_directories(${name} PUBLIC ${ARG_INCLUDE})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_FREESTANDING)
    set_target_properties(${name} PROPERTIES CXX_STANDARD 17)
    target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
    if(CMAKE_SYSTEM_NAME STREQUAL "Generic")  # an image takes, and places, functions one by one
      target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
    endif()
  endif()
endfunction()

# millrace_shareable(NAME): NAME may be linked into a shared library, which gives away nothing of it
# but what is declared to be.
function(millrace_shareable name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# What all test programs read, compiled once for each of the two kinds: a third of their build's time.
if(MILLRACE_TESTS AND NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
  find_package(GTest REQUIRED)
  file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cc "")
  foreach(kind plain optimised)
    add_library(millrace_test_headers_${kind} OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
    target_link_libraries(millrace_test_headers_${kind} PRIVATE GTest::gtest)
    target_compile_options(millrace_test_headers_${kind} PRIVATE ${MILLRACE_WARNINGS})
    target_precompile_headers(millrace_test_headers_${kind} PRIVATE <gtest/gtest.h>)
  endforeach()
  target_compile_options(millrace_test_headers_plain PRIVATE $<$<CONFIG:Release>:-O0>)
endif()

# millrace_tests(NAME SOURCES file... LINK target... [OPTIMISED] [APART regex]): one GoogleTest program for a folder.
# Tests are not optimised, which is a quarter of their build's time (what they test is), but for those that
# make or compare megabytes by inline functions.
function(millrace_tests name)
  if(NOT MILLRACE_TESTS OR CMAKE_SYSTEM_NAME STREQUAL "Generic")
    return()
  endif()
  cmake_parse_arguments(ARG "OPTIMISED" "APART" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    return()
  endif()
  include(GoogleTest)
  add_executable(${name} ${ARG_SOURCES})
  millrace_join(${name} "${ARG_APART}" ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${MILLRACE_WARNINGS})
  if(ARG_OPTIMISED)
    target_precompile_headers(${name} REUSE_FROM millrace_test_headers_optimised)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
    target_precompile_headers(${name} REUSE_FROM millrace_test_headers_plain)
  endif()
  target_compile_definitions(${name} PRIVATE MILLRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  math(EXPR limit "120 * ${MILLRACE_PATIENCE}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${limit})
endfunction()

# millrace_fuzz(NAME FILE LINK target...): FILE defines LLVMFuzzerTestOneInput. With MILLRACE_FUZZ
# it becomes a fuzzer; otherwise a program that replays the corpus folder NAME_corpus/ beside FILE
# plus a fixed number of seeded mutations, run as an ordinary test.
function(millrace_fuzz name file)
  if(NOT MILLRACE_TESTS OR CMAKE_SYSTEM_NAME STREQUAL "Generic")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  if(MILLRACE_FUZZ)
    add_executable(${name} ${file})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${file} ${PROJECT_SOURCE_DIR}/test/fuzz_replay.cc)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/${file} DIRECTORY)
    add_test(NAME ${name} COMMAND ${name} ${folder}/${name}_corpus)
    millrace_time_limit(120 ${name})
  endif()
  target_compile_options(${name} PRIVATE ${MILLRACE_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()
