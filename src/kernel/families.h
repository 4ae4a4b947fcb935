/* Internal: what each family of kernels provides; kernel.c dispatches over it. */
#pragma once

#include "kernel/kernel.h"

typedef struct FamilyInfo {
    const char *file; /* of the assembly source */
    Status (*check)(const KernelSpec *spec, Diag *diag);
    void (*interface)(const KernelSpec *spec, KernelInterface *result);
    uint64_t (*cycles)(const KernelSpec *spec, unsigned start);
    void (*scalars)(const KernelSpec *spec, int32_t scalars[]); /* NULL: the caller's are all */
    void (*name)(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]);
    void (*entry)(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]); /* NULL: the name */
    void (*defines)(const KernelSpec *spec, KernelSource *source);
    void (*reference)(const KernelSpec *spec, void *const operands[], const int32_t scalars[]);
    bool (*equal)(const KernelSpec *a, const KernelSpec *b);
} FamilyInfo;

extern const FamilyInfo family_gemm, family_gemm_f32, family_cast, family_cast_in_place,
    family_convert, family_convert_panels;
extern const FamilyInfo family_copy, family_fill, family_pack, family_lines;
extern const FamilyInfo family_reduce, family_reduce_gelu, family_gelu, family_gelu_turn,
    family_add;

/* Appends a symbol to source->defines. */
void source_define(KernelSource *source, const char *name, int64_t value);
