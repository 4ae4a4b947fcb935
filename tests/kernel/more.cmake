# Kernels run in the simulator.
foreach(target test_kernel_gemm test_kernel_gemm_cycles)
  if(TARGET ${target})
    target_link_libraries(${target} PRIVATE tw_sim)
  endif()
endforeach()
