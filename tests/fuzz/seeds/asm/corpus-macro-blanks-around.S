.macro	spaced	a ,	b	,	c = 3
	add	\a	,	\b	,	\c
.endm
	spaced	$m0	,	$m1
	spaced $m0,$m1 , 4
