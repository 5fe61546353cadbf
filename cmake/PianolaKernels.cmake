# SPDX-License-Identifier: Apache-2.0
# Kernel libraries in a build.
#
# pianola_add_kernels(<target> [OUTPUT file] [NAME name] [EMBED symbol] [TARGETS target...]
#                     [DEPENDS target...] [SOURCES] sources... | PACK manifest)
#
# Builds one kernel library from sources in the portable dialect whenever one of them, or a header they include,
# changes, and makes <target> depend on it.
#   OUTPUT   the library file; relative names are below the current build folder. Default: <target>.pkl
#   NAME     the library's name. Default: the file's name
#   TARGETS  what to build for, as in `pianola kernel build --target`. Default: host
#   PACK     a manifest of files that other compilers made (`pianola kernel pack`); no compiler is needed then
#   DEPENDS  targets that make files which the manifest names
#   EMBED    also puts the file's bytes into <target>, which gets a header <symbol>.hpp with
#            std::span<const std::byte> <symbol>();
# The file's path is left in the property PIANOLA_KERNELS of <target> (of the last library added).

function(pianola_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT;NAME;EMBED;PACK" "TARGETS;SOURCES;DEPENDS")
  list(APPEND arg_SOURCES ${arg_UNPARSED_ARGUMENTS})
  if(NOT arg_SOURCES AND NOT arg_PACK)
    message(FATAL_ERROR "pianola_add_kernels(${target}): neither sources nor a manifest")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT ${target}.pkl)
  endif()
  cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} NORMALIZE)
  cmake_path(GET arg_OUTPUT PARENT_PATH folder)
  if(NOT arg_TARGETS)
    set(arg_TARGETS host)
  endif()
  if(NOT arg_NAME)
    cmake_path(GET arg_OUTPUT STEM arg_NAME)
  endif()

  set(sources)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND sources ${source})
  endforeach()
  list(TRANSFORM arg_TARGETS PREPEND "--target;" OUTPUT_VARIABLE target_options)

  # In Pianola's own build the compiler driver is a target, in an installed package a program.
  set(kernelc ${PIANOLA_KERNELC})
  if(NOT kernelc)
    set(kernelc pianola-kernelc)
  endif()

  file(MAKE_DIRECTORY ${folder})
  cmake_path(GET arg_OUTPUT FILENAME file)
  if(arg_PACK)
    cmake_path(ABSOLUTE_PATH arg_PACK BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    add_custom_command(OUTPUT ${arg_OUTPUT}
                       COMMAND ${kernelc} --pack ${arg_PACK} -o ${arg_OUTPUT} --depfile ${arg_OUTPUT}.d
                       DEPENDS ${arg_PACK} ${arg_DEPENDS} ${kernelc} DEPFILE ${arg_OUTPUT}.d
                       COMMENT "Packing kernels ${file}" VERBATIM)
  else()
    add_custom_command(
      OUTPUT ${arg_OUTPUT}
      COMMAND ${kernelc} ${sources} -o ${arg_OUTPUT} --name ${arg_NAME} ${target_options}
              -I ${PIANOLA_INCLUDE_DIR} -I ${CMAKE_CURRENT_SOURCE_DIR}
              --cache ${PIANOLA_KERNEL_CACHE} --depfile ${arg_OUTPUT}.d
      DEPENDS ${sources} ${kernelc}
      DEPFILE ${arg_OUTPUT}.d
      COMMENT "Building kernels ${file}"
      COMMAND_EXPAND_LISTS VERBATIM)
  endif()
  string(MAKE_C_IDENTIFIER "${target}_${file}" rule)
  add_custom_target(${rule} DEPENDS ${arg_OUTPUT})
  add_dependencies(${target} ${rule})
  set_target_properties(${target} PROPERTIES PIANOLA_KERNELS ${arg_OUTPUT})
  if(arg_EMBED)
    pianola_embed_file(${target} ${arg_EMBED} ${arg_OUTPUT})
  endif()
endfunction()

# pianola_embed_file(<target> <symbol> <file>): puts a file's bytes into <target>, with a header <symbol>.hpp that
# declares std::span<const std::byte> <symbol>();
function(pianola_embed_file target symbol file)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded)
  configure_file(${PIANOLA_CMAKE_FOLDER}/embedded.hpp.in ${folder}/${symbol}.hpp @ONLY)
  configure_file(${PIANOLA_CMAKE_FOLDER}/embedded.cpp.in ${folder}/${symbol}.cpp @ONLY)
  # In the target's folder too, which compiles it.
  set_source_files_properties(${folder}/${symbol}.cpp TARGET_DIRECTORY ${target} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${folder}/${symbol}.cpp)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()

# Compiled kernels are kept by content, across build trees.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(pianola_kernel_cache $ENV{XDG_CACHE_HOME}/pianola/kernels)
elseif(DEFINED ENV{HOME})
  set(pianola_kernel_cache $ENV{HOME}/.cache/pianola/kernels)
else()
  set(pianola_kernel_cache ${CMAKE_BINARY_DIR}/kernel-cache)
endif()
set(PIANOLA_KERNEL_CACHE ${pianola_kernel_cache} CACHE PATH "Folder that keeps compiled kernels by content")

set(PIANOLA_CMAKE_FOLDER ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "Where Pianola's CMake files lie")
if(NOT PIANOLA_INCLUDE_DIR)
  set(PIANOLA_INCLUDE_DIR ${PROJECT_SOURCE_DIR}/include CACHE INTERNAL "Where pianola/kernel.h lies")
endif()
