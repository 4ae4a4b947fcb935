.worker
.warn_on_invalid_bundles
    {nop; nop}
    {fnop}
.error_on_invalid_bundles
    {nop}
