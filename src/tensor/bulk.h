/* Bulk conversion on the host between logical row-major arrays and the bytes of one shard. Values
 * are moved as codes of the storage precision (1, 2 or 4 bytes, little endian). Any number of
 * threads may convert different shards of one tensor at once. */
#pragma once

#include "tensor/format.h"

/* Fills `bytes` (shard_bytes(shard)) from `logical`, an array of the whole value in row-major
 * order. Padding becomes zero bytes. */
void bulk_pack(const Shape *shape, const Shard *shard, const void *logical, void *bytes);

/* The reverse: writes the shard's logical values to their places in `logical` and nothing else. */
void bulk_unpack(const Shape *shape, const Shard *shard, const void *bytes, void *logical);
