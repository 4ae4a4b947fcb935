.rept -1
.endr
.rept later
.endr
.irp
.endr
later:
