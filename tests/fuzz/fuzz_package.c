/* Package files: whatever is accepted can be verified, compared, and its code and bindings looked
 * up without leaving memory. */
#include "pack/pack.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

/* SQLite wants a file with a name. */
static const char *write_input(const uint8_t *bytes, size_t size, char path[200]) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, 200, "%s/tilework-fuzz-%d", folder ? folder : "/tmp", (int)getpid());
    FILE *file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    return path;
}

static void use_bindings(const Package *package) {
    for (size_t i = 0; i < package->bindings.count; i++) {
        const PackageBinding *binding = &package->bindings.items[i];
        uint64_t count, size;
        require(package_find(package, binding->name) == binding);
        require(shape_count(&binding->shape, &count));
        if (binding->slice_count == 0)
            continue;
        uint8_t *logical = mem_alloc(count, precision_bytes(binding->format.precision));
        binding_tile_slices(binding, 0, &size);
        uint8_t *shard = mem_alloc(size, 1);
        require(logical && shard);
        binding_pack(binding, 0, logical, shard);
        binding_unpack(binding, 0, shard, logical);
        mem_free(logical);
        mem_free(shard);
    }
}

static void use_package(const Package *package) {
    PackageSource source;
    package_verify(package, NULL);
    require(package_diff(package, package, stderr, 0) == 0);
    for (size_t i = 0; i < package->entries.count; i++)
        package_source(package, package->entries.items[i].tile, package->entries.items[i].address,
                       &source);
    for (uint32_t i = 0; i < package->phases.count; i++) {
        PackageExchange summary;
        require(package_phase_summary(package, i, &summary, NULL) == STATUS_OK);
    }
    for (uint32_t p = 0; p < package->programs.count; p++) {
        uint32_t count;
        const PackageKernelCall *calls = package_kernel_calls(package, p, &count);
        for (uint32_t i = 0; i < count; i++)
            require(calls[i].kernel < package_kernels(package));
    }
    use_bindings(package);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char path[200];
    Diag diag = {0};
    Package *package;
    write_input(bytes, size, path);
    Status status = package_read(path, &package, &diag);
    require(status == diag_status(&diag));
    require((package != NULL) == (status == STATUS_OK));
    if (package)
        use_package(package);
    package_free(package);
    diag_free(&diag);
    unlink(path);
    return 0;
}
