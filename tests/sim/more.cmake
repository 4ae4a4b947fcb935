# Elementary functions against MPFR.
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
add_executable(test_sim_elementary ${CMAKE_CURRENT_LIST_DIR}/mpfr_elementary.c)
target_include_directories(test_sim_elementary PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(test_sim_elementary PRIVATE tw_sim PkgConfig::CMOCKA PkgConfig::MPFR m)
tw_add_test(sim.elementary test_sim_elementary unit)

# Programs of the tests are assembly text.
foreach(target test_sim_values test_sim_control test_sim_timing test_sim_traps test_sim_machine
               test_sim_machine_threads test_sim_amp test_sim_random test_sim_exchange
               test_sim_exchange_traps test_sim_exchange_threads test_sim_fast test_sim_slots
               test_sim_directed test_sim_check)
  if(TARGET ${target})
    target_link_libraries(${target} PRIVATE tw_asm)
  endif()
endforeach()

# Float32 arithmetic against MPFR.
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
add_executable(test_sim_mpfr ${CMAKE_CURRENT_LIST_DIR}/mpfr_arithmetic.c)
target_include_directories(test_sim_mpfr PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(test_sim_mpfr PRIVATE tw_sim PkgConfig::CMOCKA PkgConfig::MPFR m)
tw_add_test(sim.mpfr test_sim_mpfr unit)
