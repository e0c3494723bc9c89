# SPDX-License-Identifier: Apache-2.0
# Reads a placement list (spec/placement_list.md) into CMake lists.
include_guard()

set(MILLRACE_CLONE_SUFFIXES part constprop isra cold lto_priv localalias ipa llvm)
# What runs before or while code is copied: moved, the board does not start. `millrace check` finds
# the whole of it in the linked image; these are the names that a list must never have.
set(MILLRACE_BOOT_FUNCTIONS
    z_arm_reset z_arm_prep_c z_prep_c __start _start SystemInit soc_reset_hook soc_early_reset_hook
    z_arm_platform_init z_arm_init_arch_hw_at_boot z_data_copy arch_data_copy data_copy_xip_relocation
    arch_early_memcpy arch_early_memset z_early_memcpy z_early_memset z_bss_zero arch_bss_zero
    memcpy memset)

# millrace_read_placement_list(FILE PREFIX): sets in the caller
#   PREFIX_entries   one number an entry, and for each number I of them
#   PREFIX_I_kind    symbol, data, object or library
#   PREFIX_I_name, PREFIX_I_file, PREFIX_I_section   the latter two may be empty
#   PREFIX_I_line    for messages
# An error in the list is a fatal error that names its line.
function(millrace_read_placement_list file prefix)
  if(NOT EXISTS "${file}" OR IS_DIRECTORY "${file}")
    message(FATAL_ERROR "placement list ${file}: there is no such file (CONFIG_MILLRACE_PLACE_LIST is "
                        "relative to the application)")
  endif()
  file(SIZE "${file}" size)
  if(size GREATER 4194304)
    message(FATAL_ERROR "placement list ${file}: ${size} bytes, 4 MB at most")
  endif()
  file(READ "${file}" text)
  string(REPLACE "\r\n" "\n" text "${text}")
  # Comments first: they may hold what CMake's lists cannot.
  string(REGEX REPLACE "(^|[ \t\n])#[^\n]*" "\\1" text "${text}")
  if(text MATCHES "[][;\\\"]")
    message(FATAL_ERROR "placement list ${file}: \"${CMAKE_MATCH_0}\" stands in no name")
  endif()
  string(REPLACE "\n" ";" lines "${text}")
  set(number 0)
  set(entries "")
  set(seen "")
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    string(REGEX MATCHALL "[^ \t]+" words "${line}")
    if(NOT words)
      continue()
    endif()
    list(JOIN words " " key)
    if(key IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${key}")
    set(where "placement list ${file}, line ${number}")
    list(POP_FRONT words first)
    set(kind symbol)
    set(name "${first}")
    if(first MATCHES "^@(data|object|library)$")
      set(kind "${CMAKE_MATCH_1}")
      list(POP_FRONT words name)
      if(NOT name)
        message(FATAL_ERROR "${where}: ${first} needs a name behind it")
      endif()
    elseif(first MATCHES "^@")
      message(FATAL_ERROR "${where}: ${first} is not known; @data, @object and @library are")
    endif()
    if(NOT name MATCHES "^[A-Za-z0-9_.$:+-]+$")
      message(FATAL_ERROR "${where}: ${name} is no name of a ${kind}")
    endif()
    set(source "")
    set(section "")
    set(qualified FALSE)
    if(kind STREQUAL "symbol" OR kind STREQUAL "data")
      set(qualified TRUE)
    endif()
    foreach(word IN LISTS words)
      if(qualified AND word MATCHES "^file=([A-Za-z0-9_./:+-]+)$")
        set(source "${CMAKE_MATCH_1}")
      elseif(qualified AND word MATCHES "^section=([A-Za-z0-9_.$]+)$")
        set(section "${CMAKE_MATCH_1}")
      else()
        message(FATAL_ERROR "${where}: ${word} is not understood; file=PATH and section=NAME are, behind "
                            "a symbol")
      endif()
    endforeach()
    if(kind STREQUAL "symbol" AND name IN_LIST MILLRACE_BOOT_FUNCTIONS)
      message(FATAL_ERROR "${where}: ${name} runs before the code is copied to fast memory, so it has to "
                          "stay in flash: take it off the list")
    endif()
    list(LENGTH entries index)
    list(APPEND entries ${index})
    set(${prefix}_${index}_kind "${kind}" PARENT_SCOPE)
    set(${prefix}_${index}_name "${name}" PARENT_SCOPE)
    set(${prefix}_${index}_file "${source}" PARENT_SCOPE)
    set(${prefix}_${index}_section "${section}" PARENT_SCOPE)
    set(${prefix}_${index}_line "${number}" PARENT_SCOPE)
  endforeach()
  set(${prefix}_entries "${entries}" PARENT_SCOPE)
endfunction()
