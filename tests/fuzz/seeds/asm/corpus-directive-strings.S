    .ascii "ab", "cd"
    .asciz "line\n"
    .string "tab\t quote\" back\\ octal\101 hex\x41"
