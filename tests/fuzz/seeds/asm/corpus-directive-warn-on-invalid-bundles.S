    .warn_on_invalid_bundles
    .worker
    {nop; nop}
    {fnop; nop}
    {add $m0, $m0, 1}
    .error_on_invalid_bundles
    {nop; fnop}
