.macro
.endm
.macro M a:bad
.endm
.macro N a:vararg, b
.endm
.endm
.endr
