// permutes in bundles
    .worker
target:
1:
    {roll8r $lr, $m2, $mzero; fnop}
    {roll8l $bp, $bp, $lr; fnop}
    {roll16 $fp, $fp, $fp; fnop}
    {sort4x16lo $sp, $m8, $bp; fnop}
    {sort4x16hi $fp, $fp, $lr; fnop}
    {shuf8x8lo $fp, $fp, $sp; fnop}
    {shuf8x8hi $bp, $m7, $sp; fnop}
    {sort8x8lo $mzero, $m8, $sp; fnop}
    {sort8x8hi $bp, $fp, $m4; fnop}
    {swap16 $sp, $sp; fnop}
    {sort8 $mzero, $sp; fnop}
    {swap8 $mzero, $sp; fnop}
    {bitrev8 $lr, $fp; fnop}
