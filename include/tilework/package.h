/* Packages: files, content, checks. docs/package.md describes the file. */
#pragma once

#include "tilework/compile.h"

/* Reading checks every rule of the file; nothing in it is trusted. Writing is seen whole or not at
 * all. */
TwStatus tw_package_read(TwContext *context, const char *path, TwPackage **package);
TwStatus tw_package_write(TwContext *context, const TwPackage *package, const char *path);
void tw_package_free(TwPackage *package);
/* Whether a file begins as packages do. */
bool tw_is_package(const char *path);

/* Checks against the chip's rules: decodable code, addresses, alignment, overlaps. */
TwStatus tw_package_verify(TwContext *context, const TwPackage *package);

/* The digest of the content, 32 hexadecimal digits: equal content, equal digest on any host. */
enum { TW_DIGEST_TEXT = 33 };
void tw_package_digest(const TwPackage *package, char text[TW_DIGEST_TEXT]);

/* Prints the differing rows, at most `limit` a table; returns their number. */
uint64_t tw_package_diff(const TwPackage *a, const TwPackage *b, FILE *out, unsigned limit);

typedef struct TwPackageSummary {
    const char *producer;
    unsigned tiles, programs;
    size_t segments, blobs, bindings;
    uint64_t segment_bytes; /* initial content of all tiles */
    uint64_t blob_bytes;    /* the same with equal pieces stored once */
} TwPackageSummary;

TwPackageSummary tw_package_summary(const TwPackage *package);

typedef enum TwBindingKind { TW_INPUT, TW_PARAMETER, TW_OUTPUT } TwBindingKind;

typedef struct TwBinding {
    const char *name;
    TwBindingKind kind;
    TwPrecision precision;
    TwShape shape;
    uint64_t logical_bytes;   /* of one copy, without padding */
    uint64_t allocated_bytes; /* of all copies on all tiles, with padding */
    unsigned copies;          /* resident at the same time */
    unsigned first_tile, tiles;
} TwBinding;

/* Bindings are ordered by name. */
size_t tw_binding_count(const TwPackage *package);
TwBinding tw_binding(const TwPackage *package, size_t index);
/* Order, class and tiling as one line; tw_free. NULL without memory. */
char *tw_binding_format(const TwPackage *package, size_t index);
/* "input", "parameter", "output" */
const char *tw_binding_kind_name(TwBindingKind kind);

typedef struct TwSegment {
    unsigned tile;
    uint32_t address, size;
    bool readable, writable, executable;
    uint32_t stored;           /* leading bytes that have content, the rest is zero */
    const uint8_t *bytes;      /* `stored` of them; NULL if 0 */
    char blob[TW_DIGEST_TEXT]; /* id of that content; "" if there is none */
} TwSegment;

/* Segments are ordered by tile, then address. */
size_t tw_segment_count(const TwPackage *package);
TwSegment tw_segment(const TwPackage *package, size_t index);

/* The memory of the tiles that run one program. */
typedef struct TwBuffer {
    const char *name;
    uint32_t address, size;
    const char *memory_class; /* "standard", "interleaved" */
    unsigned first, last;     /* steps during which it is in use */
} TwBuffer;

unsigned tw_tile_program(const TwPackage *package, unsigned tile);
/* Buffers of a program in order of address, as many as the return value says; buffers may be NULL.
 */
size_t tw_program_buffers(const TwPackage *package, unsigned program, TwBuffer *buffers,
                          size_t capacity);

/* An exchange phase: what all tiles do together between two barriers. */
typedef struct TwPhase {
    const char *name;
    uint32_t horizon;    /* cycles of its longest row */
    uint32_t bound;      /* words that the busiest tile sends or receives */
    unsigned tiles;      /* that have a row */
    unsigned transfers;  /* pieces that move */
    unsigned messages;   /* in which they are sent: a long piece in several */
    unsigned paired;     /* of these two words a cycle, to both tiles of pairs */
    uint64_t words_sent; /* a multicast once */
    uint64_t words_received;
    uint64_t row_bytes; /* code of all rows */
    uint32_t max_row_bytes;
} TwPhase;

/* Phases are in the order of their execution. */
size_t tw_phase_count(const TwPackage *package);
TwStatus tw_phase(TwContext *context, const TwPackage *package, size_t index, TwPhase *phase);

/* Texts that the compiler left: "graph", "plan", "explanation"; NULL if there is none. */
const char *tw_package_note(const TwPackage *package, const char *name);
