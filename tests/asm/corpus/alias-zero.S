    .worker
    zero $m0
    zero $a1
    zero $a2:3
    {zero $m3; zero $a4:5}
