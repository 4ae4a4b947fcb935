/* Inside asm: the state of one asm_assemble call. All memory hangs on its arena and vectors; when
 * there is none left, asm_no_memory jumps out to asm_assemble, which frees everything. */
#pragma once

#include "asm/asm.h"

#include <setjmp.h>

typedef struct Symbol Symbol;
typedef struct Macro Macro;
typedef struct Expr Expr;
typedef struct NumericLabel NumericLabel;

/* A name of the source, made once: what it stands for is looked up with it. */
typedef struct Name {
    const char *text;
    size_t length;
    uint64_t hash;
    Symbol *symbol;
    Macro *macro;
    int32_t form;          /* first form of the mnemonic, 0 none, -1 not looked up yet */
    uint32_t file;         /* index of the source file of this name + 1, or 0 */
    uint32_t section;      /* the same of the section */
    NumericLabel *numeric; /* of digits */
} Name;

/* ---- text */

typedef struct Place Place;

/* A text being read: a file, or the expansion of a macro or repetition. Comments are blanked out,
 * so that columns stay. Lives as long as the assembly, since places point to it. */
typedef struct Source {
    struct Source *parent;
    const char *text, *end, *at;
    const char *line_start;
    uint32_t file, line;
    uint32_t first_file, first_line; /* of `text`, for another pass */
    uint64_t passes;                 /* still to come after this one */
    const char *what;                /* "macro FOO", ".rept"; NULL for a file */
    const Place *call;               /* where it was called; NULL for the first file */
    size_t conditions;               /* depth of the condition stack when it began */
    unsigned depth;
    char then; /* the brace behind its call, or 0 */
    const Place *then_place;
} Source;

struct Place {
    const Source *source;
    const char *line_start, *at; /* in source->text */
    uint32_t file, line;
};

typedef struct Statement {
    const char *text, *end;
    char terminator; /* one of "\n;{}" */
    const char *line_start;
    uint32_t file, line;
} Statement;

/* Reading position inside a statement. */
typedef struct Cursor {
    const Statement *statement;
    const char *at, *end;
} Cursor;

/* ---- expressions */

typedef enum ExprKind { EXPR_NUMBER, EXPR_SYMBOL, EXPR_UNARY, EXPR_BINARY } ExprKind;

typedef enum Operator {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_SHL,
    OP_SHR,
    OP_AND,
    OP_OR,
    OP_XOR,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_LAND,
    OP_LOR,
    OP_NEG,
    OP_NOT,
    OP_LNOT,
    OP_ABS_BITS /* unary: keep `number` low bits */
} Operator;

struct Expr {
    ExprKind kind;
    Operator op;
    int64_t number;
    Symbol *symbol;
    Expr *left, *right;
    uint32_t nodes, depth;
    Place place;
};

/* number + address of base, if there is one. */
typedef struct Value {
    int64_t number;
    Symbol *base;
} Value;

typedef enum Known {
    KNOWN,   /* the value is final */
    UNKNOWN, /* depends on a symbol that is not defined (yet) */
    INVALID  /* can have no value: an error was or will be told with *why */
} Known;

struct Symbol {
    Name *name;      /* NULL for numeric labels and positions */
    int32_t section; /* index, ASM_ABSOLUTE or ASM_UNDEFINED */
    int64_t value;
    Expr *set; /* of .set */
    Expr *size;
    bool defined, variable, global, function, used, evaluating;
    bool predefined; /* by AsmOptions and not by the source: in the object if used */
    Place place;
    bool exported;  /* it is in the object */
    uint32_t index; /* there */
};

/* ---- macros and conditions */

typedef struct Parameter {
    Name *name;
    const char *value; /* default, "" if none */
    size_t length;
    bool required, variadic;
} Parameter;

struct Macro {
    Name *name;
    Parameter *parameters;
    size_t count;
    const char *body;
    size_t length;
    uint32_t file, line; /* of the body's first character */
};

typedef struct Condition {
    bool outer;   /* the code around it is active */
    bool active;  /* the current branch is */
    bool decided; /* a branch was active */
    bool last;    /* .else was seen */
    Place place;
} Condition;

/* ---- instructions */

typedef enum Suffix { SUFFIX_NONE, SUFFIX_INC, SUFFIX_PP, SUFFIX_AT, SUFFIX_SHR } Suffix;
typedef enum Broadcast { BROADCAST_NONE, BROADCAST_B, BROADCAST_BL, BROADCAST_BU } Broadcast;

typedef struct ParsedOperand {
    Expr *expr; /* an immediate, or NULL: a register */
    bool arithmetic;
    uint8_t number, count; /* first register, how many */
    uint8_t broadcast, suffix;
    bool weights; /* $CWEI_m_n */
    Place place;
} ParsedOperand;

typedef struct Parsed {
    IsaForm form; /* first form of the mnemonic */
    uint8_t count;
    uint8_t mode;       /* IsaMode where it stands */
    bool exact;         /* this form and no other of its mnemonic */
    const char *word;   /* as the source has it */
    const char *suffix; /* of `mnemonic.suffix`: only such forms; NULL */
    ParsedOperand operand[ISA_MAX_OPERANDS];
    Place place;
} Parsed;

typedef struct Bundle {
    bool open;
    unsigned count;
    Parsed half[2];
    Place place;
    size_t errors; /* told before it began */
} Bundle;

/* One emitted instruction or bundle; kept for the checks that need all labels. */
typedef struct Packet {
    uint32_t offset, size;
    const Parsed *half[2]; /* [1] of a bundle only */
    IsaInstr instr[2];
    bool pending;   /* its words are written when all labels are known */
    bool unchecked; /* .allow_invalid_repeat was in force */
    bool labelled;  /* a label stands before it */
    bool relocated; /* an operand of the main half is an address */
    uint32_t line;  /* index of its AsmLine */
} Packet;

/* Data that waits for labels. */
typedef struct DataFixup {
    uint32_t offset;
    uint8_t size;
    Expr *expr;
    uint32_t line;
} DataFixup;

/* A relocation whose symbol is not yet numbered. */
typedef struct PendingReloc {
    AsmReloc reloc;
    Symbol *symbol;
} PendingReloc;

typedef struct Section {
    Name *name;
    unsigned flags;
    uint32_t align;
    uint32_t size;
    bool labelled; /* since the last packet */
    VEC(uint8_t) bytes;
    VEC(AsmLine) lines;
    VEC(Packet) packets;
    VEC(DataFixup) fixups;
    VEC(PendingReloc) relocs;
} Section;

struct NumericLabel {
    Symbol *last, *next; /* defined most recently; used forward and not yet defined */
};

typedef struct Assembler {
    Arena arena; /* dies with the call */
    jmp_buf no_memory;
    const AsmOptions *options;
    Diag *diag;
    Status first_code; /* of the first error told */
    size_t errors, warnings;
    bool stop;
    Source *source;
    uint64_t statements, bytes; /* read, and made by expansions, so far */
    uint64_t evaluations;       /* of parts of expressions */
    uint64_t most_statements, most_bytes, most_evaluations;
    unsigned evaluation_depth;
    uint32_t emitted;  /* bytes of all sections */
    VEC(Name *) names; /* open-addressed */
    size_t name_count;
    VEC(const char *) files;
    VEC(Symbol *) symbols; /* named ones, in order of appearance */
    VEC(Condition) conditions;
    VEC(Section *) sections;
    uint32_t section, previous_section;
    VEC(uint32_t) section_stack;
    uint64_t expansions; /* \@ */
    VEC(char) scratch;   /* the text of an expansion while it grows */
    bool scratch_full;   /* and what did not fit is left out */
    IsaMode mode;
    bool allow_optimizations, warn_bundles, allow_operands, allow_mode, allow_repeat;
    Bundle bundle;
    AsmObject *object; /* while it is being built */
} Assembler;

/* assembler.c */
_Noreturn void asm_no_memory(Assembler *a);
void *asm_alloc(Assembler *a, size_t count, size_t size);      /* zeroed */
char *asm_copy(Assembler *a, const char *text, size_t length); /* with a final 0 */
#define ASM_NEW(a, type, count) ((type *)asm_alloc((a), (count), sizeof(type)))
#define ASM_PUSH(a, vec, ...)                                                                      \
    do {                                                                                           \
        if (!vec_push((vec), __VA_ARGS__))                                                         \
            asm_no_memory(a);                                                                      \
    } while (0)
Name *asm_name(Assembler *a, const char *text, size_t length);
Symbol *asm_symbol(Assembler *a, Name *name); /* creates it, undefined */
/* Errors and warnings with source line, caret and macro calls. asm_error stops after a hundred. */
void asm_error(Assembler *a, Status code, Place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void asm_warning(Assembler *a, Status code, Place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Notes belong to the error just told. */
void asm_note(Assembler *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void asm_define_label(Assembler *a, Symbol *symbol, Place place);
void asm_process(Assembler *a, const Statement *statement);

/* `{` or `}` */
void asm_brace(Assembler *a, char brace, Place place);

/* lexer.c */
/* Begins to read a text; comments are blanked in a copy unless it is already clean. */
Source *asm_push_source(Assembler *a, const char *text, size_t size, bool clean, uint32_t file,
                        uint32_t line, const char *what, const Place *call);
bool asm_next_statement(Assembler *a, Statement *statement);
/* Goes back to the text that called this one, then does what stands behind the call. */
void asm_leave_source(Assembler *a, const Source *source);
/* What a source may expand to is in proportion to its size: small ones end soon, whatever they say.
 */
void asm_set_limits(Assembler *a, size_t size);
/* Counts bytes of text that are read or made; false with an error when there are too many. */
bool asm_count_bytes(Assembler *a, size_t bytes, Place place);
uint32_t asm_file(Assembler *a, const char *name, size_t length);
Place asm_place(const Assembler *a, const Statement *statement, const char *at);
Place asm_cursor_place(const Assembler *a, const Cursor *cursor);
void asm_skip_blanks(Cursor *cursor);
bool asm_at_end(Cursor *cursor); /* nothing but blanks left */
bool asm_take(Cursor *cursor, char c);
/* The identifier at the cursor; length 0 if there is none. asm_word moves past it. */
size_t asm_peek_word(Cursor *cursor);
Name *asm_word(Assembler *a, Cursor *cursor);
bool asm_word_is(const char *text, size_t length, const char *word); /* capitals do not matter */
/* "text" with the usual escapes; tells an error and returns NULL if there is none. */
char *asm_string(Assembler *a, Cursor *cursor, size_t *length);
bool asm_word_start(char c);
bool asm_word_part(char c);
/* Length of the quoted thing at `at` (a string or a character constant), 0 if there is none. */
size_t asm_quoted(const char *at, const char *end);
/* Tells an error if anything is left. */
bool asm_expect_end(Assembler *a, Cursor *cursor);

/* expr.c */
Expr *asm_expression(Assembler *a, Cursor *cursor); /* NULL: an error was told */
Expr *asm_number(Assembler *a, int64_t number, Place place);
Expr *asm_unary(Assembler *a, Operator op, Expr *of, int64_t number, Place place);
/* `final`: all labels are known, an undefined symbol is an external one. */
Known asm_evaluate(Assembler *a, const Expr *expr, bool final, Value *value, const char **why);
/* Must be a number now; tells an error otherwise. */
bool asm_constant(Assembler *a, const Expr *expr, int64_t *number);
Symbol *asm_here(Assembler *a, Place place);
NumericLabel *asm_numeric_label(Assembler *a, uint64_t number); /* creates it */

/* macro.c */
/* Handles conditions; true if the statement was one (or is skipped). */
bool asm_condition(Assembler *a, Cursor cursor);
bool asm_skipping(const Assembler *a);
bool asm_macro_directive(Assembler *a, const Statement *statement, const char *word, size_t length,
                         Cursor *cursor);
void asm_call_macro(Assembler *a, const Macro *macro, Cursor *cursor, Place place);
void asm_close_conditions(Assembler *a, size_t depth);

/* directive.c */
void asm_directive(Assembler *a, const Statement *statement, const char *word, size_t length,
                   Cursor *cursor, Place place);
Section *asm_current(Assembler *a);
/* Appends bytes (zeros if NULL) to the current section; returns their offset. */
uint32_t asm_emit(Assembler *a, const void *bytes, uint32_t size, Place place);
uint32_t asm_add_line(Assembler *a, uint32_t offset, uint32_t size, bool code, Place place);
void asm_enter_section(Assembler *a, const char *name, unsigned flags);

/* operand.c */
bool asm_operand(Assembler *a, Cursor *cursor, ParsedOperand *operand);
/* The number of the CSR at the cursor ("$FP_CLR"), -1 if it names none (error told). */
int asm_csr(Assembler *a, Cursor *cursor);

/* instr.c */
void asm_instruction(Assembler *a, Name *name, Cursor *cursor, Place place);
void asm_open_bundle(Assembler *a, Place place);
void asm_close_bundle(Assembler *a, Place place);
/* Writes the words that waited for labels. */
void asm_encode_pending(Assembler *a, Section *section);

/* match.c */
typedef struct Match {
    Known known;    /* INVALID: an error was told */
    IsaInstr instr; /* of an UNKNOWN match only the form is meant, and only as a likely one */
    Symbol *symbol; /* of a relocation, or NULL */
    int64_t addend;
    uint8_t reloc;
    bool pattern; /* a negative number is written as its 32 bits */
} Match;
/* Chooses the form and the values of its operands. */
Match asm_match(Assembler *a, const Parsed *parsed, bool final);

/* check.c */
void asm_check_mode(Assembler *a, const Parsed *parsed, const IsaInstr *instr);
void asm_check_operands(Assembler *a, const Parsed *parsed, const IsaInstr *instr);
/* The halves of a bundle must not write a common register. */
void asm_check_overlap(Assembler *a, const Parsed *const half[2], const IsaInstr instr[2]);
void asm_check_repeats(Assembler *a, Section *section);

/* hazard.c */
void asm_check_hazards(Assembler *a, const Section *section);

/* object.c */
void asm_finish(Assembler *a);
AsmObject *asm_build_object(Assembler *a, const char *name);
