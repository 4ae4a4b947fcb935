#include "api/api.h"

#include "asm/asm.h"
#include "base/file.h"
#include "isa/isa.h"

#include <string.h>
#include <sys/stat.h>

static TwStatus write_object(TwContext *context, const AsmObject *object, const char *path) {
    uint8_t *bytes;
    size_t size;
    Status status = asm_elf_write(object, &bytes, &size, &context->diag);
    if (status == STATUS_OK) {
        status = file_write_atomic(path, bytes, size, &context->diag);
        mem_free(bytes);
    }
    return (TwStatus)status;
}

static TwStatus print_listing(TwContext *context, const AsmObject *object, FILE *out) {
    char *text = asm_listing(object);
    if (!text)
        return api_no_memory(context);
    fputs(text, out);
    mem_free(text);
    return 0;
}

/* Preprocessors read devices too, and some of these never end. */
static Status preprocess(const char *source, const TwAssembleOptions *options, char **text,
                         size_t *size, Diag *diag) {
    struct stat info;
    if (stat(source, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)))
        return diag_error(diag, ERR_FILE_READ, (DiagPlace){.file = source, .tile = -1},
                          "cannot read: a device is no source file");
    return api_preprocess(source, options, text, size, diag);
}

/* Where `.include` looks: beside the source, then in the folders of the preprocessor. The texts
 * live until the source is assembled. */
typedef struct Includes {
    const char *source;
    const TwAssembleOptions *options;
    VEC(uint8_t *) texts;
} Includes;

static uint8_t *read_beside(const char *folder, int length, const char *name, size_t *size) {
    char *path = mem_printf("%.*s%s%s", length, folder, length ? "/" : "", name);
    uint8_t *bytes = NULL;
    if (!path || file_read(path, &bytes, size, NULL) != STATUS_OK)
        bytes = NULL;
    mem_free(path);
    return bytes;
}

static const char *include_file(void *context, const char *name, size_t *size) {
    Includes *includes = context;
    const char *slash = strrchr(includes->source, '/');
    int length = slash && *name != '/' ? (int)(slash - includes->source) : 0;
    uint8_t *bytes = read_beside(includes->source, length, name, size);
    for (size_t i = 0; i < includes->options->include_count && !bytes; i++) {
        const char *folder = includes->options->includes[i];
        bytes = read_beside(folder, (int)strlen(folder), name, size);
    }
    if (bytes && !vec_push(&includes->texts, bytes)) {
        mem_free(bytes);
        bytes = NULL;
    }
    return (const char *)bytes;
}

/* With the names of the chip that sources expect from headers of the SDK. */
static Status assemble_text(const char *source, const char *text, size_t size,
                            const TwAssembleOptions *options, AsmObject **object, Diag *diag) {
    Includes includes = {.source = source, .options = options};
    AsmOptions names = {.include = include_file, .context = &includes};
    names.defines = asm_standard_defines(&names.define_count);
    Status status = asm_assemble(source, text, size, &names, object, diag);
    for (size_t i = 0; i < includes.texts.count; i++)
        mem_free(includes.texts.items[i]);
    vec_free(&includes.texts);
    return status;
}

Status api_assemble(const char *source, const TwAssembleOptions *options, AsmObject **object,
                    Diag *diag) {
    char *text;
    size_t size;
    Status status = options->preprocessor ? preprocess(source, options, &text, &size, diag)
                                          : file_read(source, (uint8_t **)&text, &size, diag);
    if (status != STATUS_OK)
        return status;
    status = assemble_text(source, text, size, options, object, diag);
    mem_free(text);
    return status;
}

TwStatus tw_assemble(TwContext *context, const char *source, const char *object,
                     const TwAssembleOptions *options) {
    static const TwAssembleOptions none = {0};
    options = options ? options : &none;
    if (file_is_same(source, object)) /* it must outlive a slip of the pen */
        return (TwStatus)diag_error(&context->diag, ERR_FILE_WRITE,
                                    (DiagPlace){.file = object, .tile = -1},
                                    "cannot write: it is the source");
    AsmObject *assembled = NULL;
    TwStatus result = (TwStatus)api_assemble(source, options, &assembled, &context->diag);
    if (result == 0 && options->listing)
        result = print_listing(context, assembled, options->listing);
    if (result == 0)
        result = write_object(context, assembled, object);
    asm_object_free(assembled);
    return result;
}

/* The name of the function that begins at an address, or NULL. */
static const char *function_at(const Package *package, uint32_t tile, uint32_t address) {
    PackageSource source = {0};
    bool known = package_source(package, tile, address, &source);
    return known && source.function && source.offset == 0 ? source.function : NULL;
}

/* One issue at words[0], which may belong to either context: bundles are the workers'. */
static uint32_t print_issue(const uint32_t *words, size_t count, char text[2 * ISA_TEXT_SIZE]) {
    IsaPacket packet;
    if (words[0] & ISA_BUNDLE_BIT && isa_decode_packet(words, count, ISA_WORKER, &packet)) {
        isa_disassemble_packet(&packet, ISA_WORKER, text);
        return packet.size;
    }
    IsaInstr instr;
    uint32_t size = isa_decode(words, count, &instr);
    if (size)
        isa_disassemble(&instr, isa_form_info((IsaForm)instr.form)->modes, text);
    else
        snprintf(text, 2 * ISA_TEXT_SIZE, ".long 0x%08x", words[0]);
    return size ? size : 4;
}

static void print_code(const Package *package, const PackageSegment *segment, FILE *out) {
    const PackageBlob *blob = &package->blobs.items[segment->blob];
    fprintf(out, "    .section .text.at_%x, \"ax\", @progbits\n", segment->address);
    for (uint32_t at = 0; at + 4 <= blob->size;) {
        uint32_t words[2] = {0};
        uint32_t left = MIN_OF(blob->size - at, (uint32_t)sizeof words);
        memcpy(words, blob->bytes + at, left);
        char text[2 * ISA_TEXT_SIZE];
        uint32_t size = print_issue(words, left / 4, text);
        const char *function = function_at(package, segment->tile, segment->address + at);
        if (function)
            fprintf(out, "// %s:\n", function);
        fprintf(out, "    %s // %05x %08x", text, segment->address + at, words[0]);
        if (size == 8)
            fprintf(out, " %08x", words[1]);
        fputc('\n', out);
        at += size;
    }
}

static TwStatus disassemble_package(TwContext *context, const char *path, unsigned tile,
                                    FILE *out) {
    Package *package;
    Status status = package_read(path, &package, &context->diag);
    if (status != STATUS_OK)
        return (TwStatus)status;
    if (tile >= package->tile_count) {
        status = diag_error(&context->diag, ERR_CLI_NAME, (DiagPlace){.file = path, .tile = -1},
                            "the package has tiles 0 to %u, not %u", package->tile_count - 1, tile);
    } else {
        fprintf(out,
                "// %s, tile %u\n    .allow_invalid_execution_mode\n"
                "    .allow_invalid_operands\n    .allow_invalid_repeat\n",
                path, tile);
        uint32_t count, first = package_tile_segments(package, tile, &count);
        for (uint32_t i = first; i < first + count; i++) {
            const PackageSegment *segment = &package->segments.items[i];
            if (segment->flags & PACKAGE_EXECUTE && segment->blob != PACKAGE_NONE)
                print_code(package, segment, out);
        }
    }
    package_free(package);
    return (TwStatus)status;
}

static TwStatus disassemble_object(TwContext *context, const char *path, const uint8_t *bytes,
                                   size_t size, FILE *out) {
    AsmObject *object;
    Status status = asm_elf_read(path, bytes, size, &object, &context->diag);
    if (status != STATUS_OK)
        return (TwStatus)status;
    char *text = asm_source(object);
    TwStatus result = text ? 0 : api_no_memory(context);
    if (text)
        fputs(text, out);
    mem_free(text);
    asm_object_free(object);
    return result;
}

TwStatus tw_disassemble(TwContext *context, const char *path, unsigned tile, FILE *out) {
    static const char elf[] = "\177ELF";
    FileMap map;
    Status status = file_map(path, &map, &context->diag);
    if (status != STATUS_OK)
        return (TwStatus)status;
    bool object = map.size >= 4 && memcmp(map.bytes, elf, 4) == 0;
    TwStatus result = object ? disassemble_object(context, path, map.bytes, map.size, out)
                             : disassemble_package(context, path, tile, out);
    file_unmap(&map);
    return result;
}
