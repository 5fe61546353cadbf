# SPDX-License-Identifier: Apache-2.0
# Settings that every target of this project shares.

add_library(pianola_settings INTERFACE)
target_compile_features(pianola_settings INTERFACE cxx_std_20)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(pianola_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                         -Wno-sign-conversion -Wnon-virtual-dtor -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports bounds in inlined standard containers that do not exist.
    target_compile_options(pianola_settings INTERFACE -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict
                           -Wno-maybe-uninitialized -Wno-missing-field-initializers)
  else()
    # The second has a name of its own from clang 19 on; older ones, Apple's too, do not know it.
    target_compile_options(pianola_settings INTERFACE -Wno-unknown-warning-option -Wno-missing-field-initializers
                           -Wno-missing-designated-field-initializers)
  endif()
endif()

# pianola_executable(NAME sources...): a program that sees the public headers only.
function(pianola_executable name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE Pianola::pianola pianola_settings)
endfunction()
