/* The package: everything that a device needs to run a compiled graph, in memory and as one SQLite
 * file (docs/package.md).
 *
 * Tiles are logical ids. A package in memory owns all it points to (one arena); it is filled with
 * package_add_* by the compiler or by package_read, and not changed any more after that. Its
 * content digest depends on its content only, never on the order of calls, host or threads.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "tensor/format.h"
#include "xchg/xchg.h"

#include <stdio.h>

#define PACKAGE_APPLICATION_ID 0x54574B31 /* "TWK1" */
#define PACKAGE_VERSION        5          /* user_version */
#define PACKAGE_NONE           UINT32_MAX

/* 128-bit XXH3 in canonical (big-endian) byte order. */
typedef struct PackageDigest {
    uint8_t bytes[16];
} PackageDigest;

enum { PACKAGE_DIGEST_TEXT = 33 };

typedef struct PackageBlob {
    PackageDigest id; /* of its bytes */
    const uint8_t *bytes;
    uint32_t size;
} PackageBlob;

enum { PACKAGE_READ = 1, PACKAGE_WRITE = 2, PACKAGE_EXECUTE = 4 };

/* Initial content of a tile's memory: the blob's bytes at `address`, then zeros up to `size`. */
typedef struct PackageSegment {
    uint32_t tile, address, size, flags;
    uint32_t blob; /* index, or PACKAGE_NONE: all zero */
} PackageSegment;

typedef enum PackageKind { PACKAGE_INPUT, PACKAGE_PARAMETER, PACKAGE_OUTPUT } PackageKind;

/* Where a piece of a binding lies. The slices of one tile, in order, are the bytes of the shard
 * that the binding's format gives to that tile; usually there is one. */
typedef struct PackageSlice {
    uint32_t tile, address, size;
    uint64_t offset; /* in the binding's file image: the sum of the sizes before it */
} PackageSlice;

typedef struct PackageBinding {
    const char *name; /* unique, not empty */
    PackageKind kind;
    Shape shape;             /* logical */
    Shape stored;            /* the same values in the same order; what the format deals out */
    Format format;           /* with precision and scale */
    const char *format_text; /* its text form; set by package_add_binding */
    uint32_t slice_count;
    PackageSlice *slices; /* by shard, then by copy (ascending tile) */
} PackageBinding;

/* Where a tile starts for the entry program `name`; an entry has all tiles of the package. */
typedef struct PackageEntry {
    const char *name; /* "run", "run_sampled" */
    uint32_t tile, address;
} PackageEntry;

/* What the host does: "initialize" uploads parameters once; "run" uploads inputs, releases the
 * tiles in entry `entry`, reads outputs. */
typedef struct PackageCall {
    const char *name;
    const char *entry; /* "" for a call that only moves data */
    uint32_t ordinal;  /* of the transfer */
    uint32_t binding;  /* index of a binding; inputs and parameters are written, outputs read */
} PackageCall;

/* A node of the tree graph operation → plan → phase → call. Ids ascend from 0, parents come first;
 * a root has parent PACKAGE_NONE. */
typedef struct PackageOrigin {
    uint32_t parent;
    const char *kind; /* "operation", "plan", "phase", "call" */
    const char *name;
    const char *detail;
} PackageOrigin;

/* A distinct tile program; tiles with equal code share one. */
typedef struct PackageProgram {
    uint32_t samples_address; /* of package_samples words written by entry "run_sampled" */
    uint32_t step_count;
    uint32_t calls; /* a blob of PackageKernelCalls, or PACKAGE_NONE: it calls no kernel */
} PackageProgram;

/* A kernel call in a program: the address of the call, the kernel. Ascending by address. */
typedef struct PackageKernelCall {
    uint32_t address, kernel;
} PackageKernelCall;

/* What a kernel gets: operand j lies where register $m(2 + j) points. Kernels are numbered from 0,
 * and each one's operands. */
enum { PACKAGE_FIRST_REGISTER = 2, PACKAGE_MAX_OPERANDS = 8 };
typedef struct PackageOperand {
    uint32_t kernel, operand;
    const char *name;
    uint32_t size, tail; /* bytes; the tail may only be read */
    bool stored;         /* else it is only read */
} PackageOperand;

typedef enum PackageStepKind {
    PACKAGE_COMPUTE,
    PACKAGE_EXCHANGE,
    PACKAGE_REPEAT, /* the steps behind it, PACKAGE_AGAIN included, are done several times */
    PACKAGE_AGAIN,
} PackageStepKind;

typedef struct PackageStep {
    uint32_t program, step;
    PackageStepKind kind;
    const char *name;          /* symbol that it calls, or phase */
    uint32_t origin;           /* index of a PackageOrigin, or PACKAGE_NONE */
    uint32_t phase;            /* of an exchange step; else PACKAGE_NONE */
    uint32_t invocations;      /* calls that it makes; rows; iterations of a loop */
    uint64_t predicted_cycles; /* of one run without sampling, waiting for other tiles included,
                                * in all iterations */
} PackageStep;

/* What all tiles do together in one exchange step. Every program has the phases in their order. */
typedef struct PackagePhase {
    const char *name;
    uint32_t horizon;   /* events of the longest row */
    uint32_t bound;     /* max over tiles of the words received and of the words sent */
    uint32_t transfers; /* that it carries out, in PackageTransfers */
    uint32_t times;     /* that it does in a run */
} PackagePhase;

/* The exchange code of a tile in a phase, in one of the tile's segments. */
typedef struct PackageRow {
    uint32_t phase, tile, address, size;
    uint32_t horizon; /* events that it takes */
} PackageRow;

/* A word of a row to which every iteration of a loop adds a number: so it sends from the next
 * iteration's parameters. */
typedef struct PackagePatch {
    uint32_t phase, tile, address, increment;
} PackagePatch;

/* Transfers of a phase, in their order, as words in a blob: source tile, address, length in words,
 * number of destinations, by how much the address grows from iteration to iteration of a loop; then
 * tile and address of each destination. */
typedef struct PackageTransfers {
    uint32_t phase, part, blob;
} PackageTransfers;

/* A buffer in the memory of every tile of a program, for memory maps. Events as in placement. */
typedef struct PackageBuffer {
    uint32_t program, ordinal;
    const char *name;
    uint32_t address, size; /* tails included */
    MemoryClass memory_class;
    uint32_t first, last;
} PackageBuffer;

/* Debug information belongs to the content of a segment: offset is from the blob's start. */
typedef struct PackageSymbol {
    uint32_t blob, offset, size;
    const char *name;
} PackageSymbol;

typedef struct PackageLine {
    uint32_t blob, offset;
    const char *file;
    uint32_t line;
} PackageLine;

/* A text for readers: "graph", "plan", … */
typedef struct PackageNote {
    const char *name;
    const char *text;
} PackageNote;

typedef struct Package {
    const char *producer;
    uint32_t tile_count; /* tiles 0 … tile_count-1 */
    uint32_t *program;   /* [tile_count] index of a program */
    VEC(PackageBlob) blobs;
    VEC(PackageSegment) segments; /* by tile, address */
    VEC(PackageBinding) bindings; /* by name */
    VEC(PackageEntry) entries;    /* by name, tile */
    VEC(PackageCall) calls;       /* by name, ordinal */
    VEC(PackageOrigin) origins;
    VEC(PackageOperand) operands; /* by kernel, operand */
    VEC(PackageProgram) programs;
    VEC(PackageStep) steps;          /* by program, step */
    VEC(PackagePhase) phases;        /* in order of execution */
    VEC(PackageRow) rows;            /* by phase, tile */
    VEC(PackagePatch) patches;       /* by phase, tile, increment, address */
    VEC(PackageTransfers) transfers; /* by phase, part */
    VEC(PackageBuffer) buffers;      /* by program, ordinal */
    VEC(PackageSymbol) symbols;      /* by blob, offset, name */
    VEC(PackageLine) lines;          /* by blob, offset */
    VEC(PackageNote) notes;          /* by name */
    Arena arena;                     /* strings, blob bytes, slices */
    struct PackageIndex *index;      /* blob id → index */
} Package;

/* All programs 0 until set. NULL without memory; free a half-filled one all the same. */
Package *package_create(const char *producer, uint32_t tile_count);
void package_free(Package *package);

/* Index of the blob with these bytes, added (copied) if it is new; PACKAGE_NONE without memory. */
uint32_t package_add_blob(Package *package, const void *bytes, uint32_t size);
/* Copies `name`, and the slices. NULL-terminated strings; false without memory. */
bool package_add_binding(Package *package, const PackageBinding *binding);
/* Adds the next phase, with what it moves (name, transfers copied). False without memory. */
bool package_add_phase(Package *package, const XchgPhase *transfers, uint32_t horizon,
                       uint32_t times);
/* A copy of `text` in the package's arena. */
const char *package_string(Package *package, const char *text);
/* Everything else is pushed into its vector directly. Then: sorts all tables by their keys, so that
 * the file and the digest are canonical. Indices of bindings in calls are kept right. */
Status package_finish(Package *package, Diag *diag);

/* Digest of a finished package. */
PackageDigest package_digest(const Package *package);
const char *package_digest_print(PackageDigest digest, char text[PACKAGE_DIGEST_TEXT]);

/* Writes the whole file or none (a temporary file, fsync, rename). level: zstd's, 0 = default.
 * ERR_FILE_WRITE names the path and the cause (full disk, no permission, …). */
Status package_write(const Package *package, const char *path, int level, Diag *diag);

/* Whether a file begins as packages do. */
bool package_is_file(const char *path);
/* Reads a file and trusts nothing in it: schema, types, ranges, order, sizes before allocation,
 * blob ids, digest; then package_check. Errors: ERR_FILE_*, ERR_PACK_FORMAT (no package),
 * ERR_PACK_VERSION, ERR_PACK_SCHEMA, ERR_PACK_DAMAGED (SQLite or zstd, or the digest differs),
 * and those of package_check. */
Status package_read(const char *path, Package **package, Diag *diag);

/* The structural rules of docs/package.md, for a package from any source: names unique, indices
 * valid, segments and slices inside tile memory, segments of a tile disjoint, formats checked and
 * equal to the slices' sizes, entries complete. ERR_PACK_RULE names the row. */
Status package_check(const Package *package, Diag *diag);

/* The chip's rules on top of package_check: code below 0x80000 decodes, entries lie in executable
 * segments, interleaved bindings at or above 0x80000, no buffer across the border, bindings do not
 * overlap code, alignment of slices. Reports every breach (ERR_PACK_CHIP), at most 20. And the
 * proof of the exchange: the rows of each phase, as they stand in memory, carry out its transfers
 * and break no rule (ERR_XCHG_VERIFY), and the programs call them. */
Status package_verify(const Package *package, Diag *diag);

/* Prints what differs, one line a row ("- " of a, "+ " of b), at most `limit` rows a table;
 * returns the number of differing rows. */
uint64_t package_diff(const Package *a, const Package *b, FILE *out, uint32_t limit);

/* What a phase moves. `phase` exists; free with xchg_phase_free in any case. ERR_PACK_RULE if the
 * words are no transfers. */
Status package_phase_transfers(const Package *package, uint32_t phase, XchgPhase *transfers,
                               Diag *diag);
/* Words that a program's samples take: one for each step in each iteration, and one. 0 if its
 * schedule makes no sense. */
uint64_t package_samples(const Package *package, uint32_t program);
/* First row of a phase in package->rows and, in *count, how many it has. */
uint32_t package_phase_rows(const Package *package, uint32_t phase, uint32_t *count);

typedef struct PackageExchange {
    const char *name;
    uint32_t horizon, bound; /* events, words */
    uint32_t transfers, rows;
    uint32_t messages, paired;           /* sent by the rows; of these in 64-bit items */
    uint64_t words_sent, words_received; /* a multicast is sent once */
    uint64_t row_bytes;
    uint32_t max_row_bytes;
} PackageExchange;
Status package_phase_summary(const Package *package, uint32_t phase, PackageExchange *summary,
                             Diag *diag);

const PackageBinding *package_find(const Package *package, const char *name);
/* The kernels that table operands tells of. */
uint32_t package_kernels(const Package *package);
/* The kernel calls of a program; NULL and 0 if it has none. */
const PackageKernelCall *package_kernel_calls(const Package *package, uint32_t program,
                                              uint32_t *count);
/* First segment index of a tile and, in *count, how many it has. */
uint32_t package_tile_segments(const Package *package, uint32_t tile, uint32_t *count);
/* Function and source line of a code address on a tile. False if the package knows neither;
 * unknown members are NULL and 0. */
typedef struct PackageSource {
    const char *function;
    uint32_t offset; /* from the function's start */
    const char *file;
    uint32_t line;
} PackageSource;
bool package_source(const Package *package, uint32_t tile, uint32_t address, PackageSource *source);

/* Bytes of one tile's shard of a binding from, and to, the whole value in logical order (codes of
 * its precision). `slice` is the first of the tile's slices; bytes has as many as they sum to. */
uint32_t binding_tile_slices(const PackageBinding *binding, uint32_t slice, uint64_t *bytes);
void binding_pack(const PackageBinding *binding, uint32_t slice, const void *logical, void *bytes);
void binding_unpack(const PackageBinding *binding, uint32_t slice, const void *bytes,
                    void *logical);

/* Turns a parameter's value (codes in logical order) into initial content: one segment a slice. To
 * be called before package_finish. */
Status package_set_parameter(Package *package, const PackageBinding *binding, const void *logical,
                             Diag *diag);
