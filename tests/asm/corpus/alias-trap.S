    trap 0
    strap 1
