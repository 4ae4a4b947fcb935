# tw_embed(<target> <symbol> <file>...): compiles files into the library as the table <symbol> of
# EmbeddedFile (base/embed.h). Used for kernel sources and error pages, so that the command works
# without the source tree.
function(tw_embed target symbol)
  set(table ${CMAKE_BINARY_DIR}/generated/embed/${symbol}.S)
  add_custom_command(
    OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DOUT=${table} -DSYMBOL=${symbol} "-DFILES=${ARGN}"
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_table.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_table.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${table})
endfunction()
