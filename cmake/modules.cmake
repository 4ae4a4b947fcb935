# The modules, in the only order in which they may include each other (docs/architecture.md).
# tests/structure/include_order.sh reads MODULE_ORDER from this file.
set(MODULE_ORDER base num chip isa asm sim tensor graph model kernel plan check lower place xchg
                 emit pack compile run trial prof image quant api cli)

tw_module(base Threads::Threads)
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/errors/TW*.md)
tw_embed(tw_base tw_error_pages ${pages})
tw_module(num tw_base Threads::Threads m)
target_include_directories(tw_num PUBLIC ${OPENBLAS_INCLUDE_DIRS}) # loaded at run time
tw_module(chip tw_base)
tw_module(isa tw_chip)
tw_module(asm tw_isa tw_num)
tw_module(sim tw_isa tw_num tw_chip tw_base PkgConfig::XXHASH Threads::Threads m)
tw_module(tensor tw_base)
tw_module(graph tw_tensor)
tw_module(model tw_graph tw_num m)
tw_module(kernel tw_asm tw_tensor tw_num tw_chip)
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernel/*.S)
tw_embed(tw_kernel tw_kernel_sources ${kernels})
tw_module(plan tw_kernel tw_graph tw_tensor tw_chip)
tw_module(check tw_plan tw_graph tw_num Threads::Threads m)
tw_module(lower tw_plan)
tw_module(place tw_tensor tw_chip tw_base)
tw_module(xchg tw_chip)
tw_module(emit tw_xchg tw_place tw_lower tw_kernel tw_asm tw_isa tw_chip tw_base)
tw_embed(tw_emit tw_emit_sources ${CMAKE_SOURCE_DIR}/src/emit/runtime.S)
tw_module(pack tw_emit tw_xchg tw_lower tw_tensor tw_isa tw_chip tw_base PkgConfig::SQLITE PkgConfig::ZSTD
          PkgConfig::XXHASH)
tw_module(compile tw_pack tw_place tw_emit)
tw_module(run tw_pack tw_tensor tw_sim tw_num tw_chip tw_base)
tw_module(prof tw_run tw_pack tw_emit tw_lower tw_plan tw_graph tw_kernel tw_chip tw_base
          PkgConfig::SQLITE PkgConfig::ZSTD)
tw_embed(tw_prof tw_prof_pages ${CMAKE_SOURCE_DIR}/src/prof/report.html)
tw_module(image tw_base PkgConfig::PNG PkgConfig::JPEG PkgConfig::ZLIB)
tw_module(quant tw_image tw_model tw_num PkgConfig::JANSSON PkgConfig::XXHASH m)
tw_module(trial tw_sim tw_asm tw_model tw_num tw_isa tw_chip tw_base m)
tw_module(api tw_trial tw_quant tw_prof tw_run tw_compile tw_check tw_model tw_sim tw_asm)
tw_module(cli tw_api tw_base PkgConfig::JANSSON)
