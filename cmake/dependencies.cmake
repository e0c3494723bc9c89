# SPDX-License-Identifier: Apache-2.0
# Libraries for what Millrace is not about, all from Debian: CLI11, fmt, nlohmann-json; GoogleTest
# and Google Benchmark for tests. On Windows the same headers are used header-only, through a
# folder of links so that nothing else of /usr/include is seen by the cross compiler.
find_package(Threads REQUIRED)
add_library(millrace_deps INTERFACE)
if(WIN32)
  set(deps ${CMAKE_BINARY_DIR}/third_party)
  file(MAKE_DIRECTORY ${deps})
  foreach(folder fmt CLI nlohmann)
    if(NOT EXISTS /usr/include/${folder})
      message(FATAL_ERROR "/usr/include/${folder} is missing: run scripts/packages.sh base")
    endif()
    file(CREATE_LINK /usr/include/${folder} ${deps}/${folder} SYMBOLIC)
  endforeach()
  target_include_directories(millrace_deps SYSTEM INTERFACE ${deps})
  target_compile_definitions(millrace_deps INTERFACE FMT_HEADER_ONLY)
else()
  find_package(fmt REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  target_link_libraries(millrace_deps INTERFACE fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json)
endif()
target_link_libraries(millrace_deps INTERFACE Threads::Threads)
