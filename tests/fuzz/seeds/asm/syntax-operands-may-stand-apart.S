    add   $m0 ,$m1,  $m2
    ld64step $a0:1 , $mzero , $m2 += , 1
	ld32	$m0,	$m1,	1
