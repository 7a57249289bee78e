# The Debian package: `cmake --build FOLDER --target package` writes FOLDER/assay.deb, which
# `apt install ./assay.deb` installs. It needs dpkg-dev, which finds the libraries to depend on.
if(ASSAY_SANITIZE)
    return()
endif()

# What only the package has; `cmake --install` leaves it out.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT package EXCLUDE_FROM_ALL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/assay)
# Debian's zsh does not look into /usr/share/zsh/site-functions.
install(FILES ${PROJECT_BINARY_DIR}/_assay COMPONENT package EXCLUDE_FROM_ALL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)

set(CPACK_GENERATOR DEB)
# Who answers for a package is who builds it: as Debian's own tools take it from the environment, or the
# cache variable. The project has no address of its own, and claims none: mail to .invalid (RFC 2606)
# reaches nobody, SECURITY.md says where to write.
set(maintainer "The maintainers of assay <assay@packages.invalid>")
if(NOT "$ENV{DEBEMAIL}" STREQUAL "" AND NOT "$ENV{DEBFULLNAME}" STREQUAL "")
    set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(ASSAY_PACKAGE_MAINTAINER "${maintainer}" CACHE STRING "Name <address> of who builds the package")
if(NOT ASSAY_PACKAGE_MAINTAINER MATCHES "^[^<>@]+ <[^<>@ ]+@[^<>@ ]+>$")
    message(FATAL_ERROR "ASSAY_PACKAGE_MAINTAINER is \"${ASSAY_PACKAGE_MAINTAINER}\": write \"Name <address>\"")
endif()
set(CPACK_PACKAGE_CONTACT "${ASSAY_PACKAGE_MAINTAINER}")
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL Unspecified package)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME assay.deb)
set(CPACK_DEBIAN_PACKAGE_NAME assay)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"reproducible benchmarks of AI hardware
 Runs declared workloads (training step, batched inference, memory-bound
 kernels, GEMMs, convolutions) on CUDA, HIP and OpenCL devices and on the
 processor under a declared protocol, and stores every sample with the
 software stack, the plan and the state of the machine in SQLite.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Opened or started at run time. The compiler makes the kernels of the processor; PoCL is the OpenCL
# device that every machine has; with libcurl, and certificates for https, endpoints are measured.
# oneDNN, whose package is named after its version, and CLBlast compute the vendor implementations;
# with openssl a user asks for time stamps, with venv workers are installed.
# tests/arrows/check_packages.py compares these with the sources.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "gcc | clang, libc6-dev, ocl-icd-libopencl1 | libopencl1, pocl-opencl-icd | opencl-icd, libcurl4 | libcurl4t64, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libdnnl3 | libdnnl2 | libdnnl3.6, libclblast1, openssl, python3-venv, tpm2-tools, bash-completion")
include(CPack)
