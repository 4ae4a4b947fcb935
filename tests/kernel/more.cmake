# Kernels run in the simulator.
foreach(stem gemm gemm_f32 gemm_cycles cast convert copy pack reduce gelu add fast)
  if(TARGET test_kernel_${stem})
    target_link_libraries(test_kernel_${stem} PRIVATE tw_sim)
  endif()
endforeach()
