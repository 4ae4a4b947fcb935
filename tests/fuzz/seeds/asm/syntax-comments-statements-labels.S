// a line
/* a block
   over lines */ nop /* and behind */ ; fnop
one: two: nop; three:
"a name": nop
    br $m0 // text // more
