#include "kernel/families.h"

#include "base/embed.h"

#include <assert.h>
#include <string.h>

extern const EmbeddedFile tw_kernel_sources[];

/* clang-format off */
static const FamilyInfo *const families[] = {
    [KERNEL_GEMM] = &family_gemm,
    [KERNEL_CAST] = &family_cast,
    [KERNEL_REDUCE] = &family_reduce,
    [KERNEL_COPY] = &family_copy,
    [KERNEL_FILL] = &family_fill,
    [KERNEL_CONVERT] = &family_convert,
    [KERNEL_GELU] = &family_gelu,
    [KERNEL_ADD] = &family_add,
    [KERNEL_PACK] = &family_pack,
    [KERNEL_REDUCE_GELU] = &family_reduce_gelu,
};
/* clang-format on */

static const FamilyInfo *family_of(const KernelSpec *spec) {
    assert((size_t)spec->family < COUNT_OF(families));
    if (spec->family == KERNEL_GEMM && spec->gemm.precision == PRECISION_F32)
        return &family_gemm_f32;
    if (spec->family == KERNEL_CAST && spec->cast.order == CAST_IN_PLACE)
        return &family_cast_in_place;
    if (spec->family == KERNEL_CONVERT && spec->convert.panels > 0)
        return &family_convert_panels;
    if (spec->family == KERNEL_GELU && spec->gelu.turn != KERNEL_TURN_NONE)
        return &family_gelu_turn;
    if (spec->family == KERNEL_PACK && spec->pack.order <= PACK_TRANSPOSED_RIGHT)
        return &family_lines;
    return families[spec->family];
}

bool kernel_spec_equal(const KernelSpec *a, const KernelSpec *b) {
    return a->family == b->family && family_of(a)->equal(a, b);
}

Status kernel_check(const KernelSpec *spec, Diag *diag) {
    return family_of(spec)->check(spec, diag);
}

void kernel_interface(const KernelSpec *spec, KernelInterface *result) {
    *result = (KernelInterface){0};
    family_of(spec)->interface(spec, result);
}

uint64_t kernel_cycles(const KernelSpec *spec, unsigned start) {
    return family_of(spec)->cycles(spec, start);
}

void kernel_scalars(const KernelSpec *spec, int32_t scalars[KERNEL_MAX_SCALARS]) {
    if (family_of(spec)->scalars)
        family_of(spec)->scalars(spec, scalars);
}

const char *kernel_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    family_of(spec)->name(spec, text);
    return text;
}

const char *kernel_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const FamilyInfo *family = family_of(spec);
    (family->entry ? family->entry : family->name)(spec, text);
    return text;
}

void source_define(KernelSource *source, const char *name, int64_t value) {
    assert(source->define_count < KERNEL_MAX_DEFINES);
    source->defines[source->define_count++] = (AsmDefine){name, value};
}

void kernel_source(const KernelSpec *spec, KernelSource *result) {
    const FamilyInfo *family = family_of(spec);
    const EmbeddedFile *file = embed_find(tw_kernel_sources, family->file);
    assert(file);
    *result = (KernelSource){.file = file->name, .text = file->bytes, .size = file->size};
    family->defines(spec, result);
}

/* The sources call their entry "kernel"; several of them are linked together. */
static Status name_entry(const KernelSpec *spec, AsmObject *object, Diag *diag) {
    char name[KERNEL_NAME_SIZE];
    char *copy = arena_strdup(&object->arena, kernel_entry(spec, name));
    if (!copy)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "assembling kernel %s", name);
    for (size_t i = 0; i < object->symbol_count; i++)
        if (strcmp(object->symbols[i].name, "kernel") == 0)
            object->symbols[i].name = copy;
    return STATUS_OK;
}

Status kernel_assemble(const KernelSpec *spec, AsmObject **object, Diag *diag) {
    KernelSource source;
    kernel_source(spec, &source);
    AsmOptions options = {.defines = source.defines, .define_count = source.define_count};
    Status status = asm_assemble(source.file, source.text, source.size, &options, object, diag);
    if (status != STATUS_OK)
        return status;
    status = name_entry(spec, *object, diag);
    if (status != STATUS_OK) {
        asm_object_free(*object);
        *object = NULL;
    }
    return status;
}

void kernel_reference(const KernelSpec *spec, void *const operands[], const int32_t scalars[]) {
    family_of(spec)->reference(spec, operands, scalars);
}
