# Rows executed in the simulator.
foreach(target test_xchg_random test_xchg_damage test_xchg_patterns test_xchg_machine)
  if(TARGET ${target})
    target_link_libraries(${target} PRIVATE tw_sim)
  endif()
endforeach()
