# The demo on data that can be checked here; "real" is skipped where ./dev demo has not prepared it.
if(TARGET tilework)
  set_tests_properties(cli.page PROPERTIES SKIP_RETURN_CODE 77)
  foreach(data small real)
    add_test(NAME demo.zero_weights_${data}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/demo/zero_weights.sh ${data}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(demo.zero_weights_${data} PROPERTIES LABELS command SKIP_RETURN_CODE 77
                         ENVIRONMENT "TILEWORK=$<TARGET_FILE:tilework>")
  endforeach()
endif()
