	.worker
	add	$m0 ,$m1,	$m2
    ld64step   $a0:1,$mzero,$m1+=,1
    { ld64step $a0:1 , $mzero , $m1 += , 1 ;f32v2add $a2:3,$a0:1,$a2:3 }
    add $m0,$m1,5;sub $m1,$m2,$m3 ; nop
label :  nop
other:nop
