# Writes one assembler file that includes every file of FILES as bytes; see tw_embed.
set(data "")
set(table "")
set(count 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  string(APPEND data "n${count}: .asciz \"${name}\"\nb${count}: .incbin \"${file}\"\ne${count}: .byte 0\n")
  string(APPEND table ".quad n${count}, b${count}, e${count} - b${count}\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "\
.section .note.GNU-stack,\"\",@progbits
.section .rodata
${data}.section .data.rel.ro,\"aw\"
.balign 8
.globl ${SYMBOL}
${SYMBOL}:
${table}.quad 0, 0, 0
")
