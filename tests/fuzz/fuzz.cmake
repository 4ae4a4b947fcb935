# Every tests/fuzz/fuzz_NAME.c defines LLVMFuzzerTestOneInput and has its seeds in
# tests/fuzz/seeds/NAME/. With TW_FUZZ it becomes a libFuzzer program (`./dev fuzz`), otherwise a
# test that replays the seeds.
add_custom_target(fuzzers)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(source IN LISTS sources)
  get_filename_component(target ${source} NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" name ${target})
  if(TW_FUZZ)
    add_executable(${target} EXCLUDE_FROM_ALL ${source})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
    add_dependencies(fuzzers ${target})
  else()
    add_executable(${target} ${source} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/replay.c)
    tw_add_test(fuzz.${name} ${target} unit tests/fuzz/seeds/${name})
  endif()
  target_link_libraries(${target} PRIVATE ${all_modules} m)
endforeach()
