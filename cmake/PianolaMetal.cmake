# SPDX-License-Identifier: Apache-2.0
# Objective-C++ for the Metal backend: Apple's SDK on a Mac, GNUstep and the software Metal elsewhere.

if(APPLE)
  enable_language(OBJCXX)
  add_library(pianola_metal_api INTERFACE)
  target_link_libraries(pianola_metal_api INTERFACE "-framework Foundation" "-framework Metal")
  return()
endif()

# Objective-C++ needs clang, for blocks and autorelease pools; the rest may be compiled by g++.
find_program(PIANOLA_METAL_CLANG NAMES clang++-19 clang++ REQUIRED)
set(CMAKE_OBJCXX_COMPILER ${PIANOLA_METAL_CLANG})
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(CMAKE_OBJCXX_COMPILER ${CMAKE_CXX_COMPILER})
  set(CMAKE_OBJCXX_FLAGS "${CMAKE_CXX_FLAGS}")
endif()
set(CMAKE_OBJCXX_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
set(pianola_pch_prologue "${CMAKE_PCH_PROLOGUE}")
enable_language(OBJCXX)
set(CMAKE_PCH_PROLOGUE "${pianola_pch_prologue}")  # one for all languages: g++ knows no pragma of clang's
find_path(GNUSTEP_INCLUDE_DIR Foundation/Foundation.h PATH_SUFFIXES GNUstep REQUIRED)
find_path(GCC_OBJC_INCLUDE_DIR objc/objc.h REQUIRED
          HINTS /usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/12/include /usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/13/include)

# gcc's include folder must come after clang's own, hence -idirafter.
add_library(pianola_gnustep INTERFACE)
target_include_directories(pianola_gnustep SYSTEM INTERFACE ${GNUSTEP_INCLUDE_DIR})
target_compile_options(pianola_gnustep INTERFACE
  "$<$<COMPILE_LANGUAGE:OBJCXX>:-fobjc-runtime=gcc;-fblocks;-fexceptions;-fobjc-exceptions;-fconstant-string-class=NSConstantString;-D_NATIVE_OBJC_EXCEPTIONS;SHELL:-idirafter ${GCC_OBJC_INCLUDE_DIR}>")
target_link_libraries(pianola_gnustep INTERFACE gnustep-base objc pthread dl)
target_link_options(pianola_gnustep INTERFACE -rdynamic)

add_library(pianola_metal_api INTERFACE)
target_link_libraries(pianola_metal_api INTERFACE sim_metal)
