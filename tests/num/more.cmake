# The AMP step against MPFR, the only program that needs it.
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
add_executable(test_num_mpfr ${CMAKE_CURRENT_LIST_DIR}/mpfr_amp.c)
target_include_directories(test_num_mpfr PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(test_num_mpfr PRIVATE tw_num PkgConfig::CMOCKA PkgConfig::MPFR m)
tw_add_test(num.mpfr test_num_mpfr unit)

# The AVX-512 level translated to AVX2, so that it is tested on processors without it. The
# translation expands to so much code that it takes -O1, and minutes with a sanitizer: not there.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT TW_SANITIZE)
  find_path(SIMDE_INCLUDE simde/x86/avx512.h REQUIRED)
  add_executable(test_num_avx512 ${CMAKE_CURRENT_LIST_DIR}/translated_avx512.c)
  target_compile_options(test_num_avx512 PRIVATE -O1 -mavx2 -mfma -mf16c -mbmi2 -Wno-psabi)
  target_include_directories(test_num_avx512 PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_include_directories(test_num_avx512 SYSTEM PRIVATE ${SIMDE_INCLUDE})
  target_link_libraries(test_num_avx512 PRIVATE tw_num PkgConfig::CMOCKA m)
  tw_add_test(num.avx512 test_num_avx512 unit)
endif()
