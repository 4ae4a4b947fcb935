    setzi $m0, end - begin
    ld32 $m0, $m1, $mzero, (end - begin) / 4
begin:
    nop
    nop
end:
    .int total
    .set total, end - begin
