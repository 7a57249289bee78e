# A Debian package: `cmake --build build/release --target package`. Without ASSAY_TESTS and with
# them it holds the same files, since tests install nothing.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VENDOR "The assay maintainers")
set(CPACK_PACKAGE_CONTACT "The assay maintainers <maintainers@assay.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Opened or called at run time: OpenCL's loader, the device that every machine has, and the compiler
# of the cpu backend's kernels, with the C library's headers.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ocl-icd-libopencl1, pocl-opencl-icd, gcc, libc6-dev")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
