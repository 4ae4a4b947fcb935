# Tests of the source tree itself.
foreach(test include_order include_order_self hygiene error_codes)
  add_test(NAME structure.${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/structure/${test}.sh
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(structure.${test} PROPERTIES LABELS structure)
endforeach()
