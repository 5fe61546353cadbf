# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the package that find_package(Pianola) finds.

set(pianola_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Pianola)
install(TARGETS pianola EXPORT PianolaTargets FILE_SET HEADERS
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT PianolaTargets NAMESPACE Pianola:: DESTINATION ${pianola_package_dir})

get_target_property(pianola_library_type pianola TYPE)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/PianolaConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/PianolaConfig.cmake
                              INSTALL_DESTINATION ${pianola_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PianolaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PianolaConfig.cmake ${PROJECT_BINARY_DIR}/PianolaConfigVersion.cmake
        DESTINATION ${pianola_package_dir})
foreach(extra IN ITEMS PianolaKernels.cmake embedded.hpp.in embedded.cpp.in)
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${extra})
    install(FILES ${CMAKE_CURRENT_LIST_DIR}/${extra} DESTINATION ${pianola_package_dir})
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(program IN ITEMS pianola_tool pianola-kernelc)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
