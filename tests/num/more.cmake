# The AMP step against MPFR, the only program that needs it.
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
add_executable(test_num_mpfr ${CMAKE_CURRENT_LIST_DIR}/mpfr_amp.c)
target_include_directories(test_num_mpfr PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(test_num_mpfr PRIVATE tw_num PkgConfig::CMOCKA PkgConfig::MPFR m)
tw_add_test(num.mpfr test_num_mpfr unit)
