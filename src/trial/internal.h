/* What the files of this module share. */
#pragma once

#include "trial/trial.h"

/* data.c ---------------------------------------------------------------------------------------*/

typedef enum PlaceClass { PLACE_INTERLEAVED, PLACE_STANDARD, PLACE_ADDRESS } PlaceClass;

Status trial_no_memory(Diag *diag);
/* Parses a description and fills it; the place remains: its class, and the address if given. */
Status data_buffer(Trial *trial, const char *text, bool output, uint64_t seed, TrialBuffer *buffer,
                   PlaceClass *place, Diag *diag);
/* NAME=CONTENT: what an output shall be. */
Status data_expect(Trial *trial, const char *text, uint64_t seed, Diag *diag);
/* Parses a number of this type as bits. */
bool data_number(TrialType type, int scale, const char *text, size_t length, uint32_t *bits);
/* The buffer called text[0…length-1], or NULL; `unknown` then tells. */
TrialBuffer *data_find(Trial *trial, const char *text, size_t length);
Status data_unknown(Trial *trial, const char *text, size_t length, const char *object, Diag *diag);
void data_compare(Trial *trial);

/* arguments.c ----------------------------------------------------------------------------------*/

enum { FIRST_REGISTER = 2, WORKER_REGISTERS = 12, FRAME_WORDS = 32 };

/* Words in registers, in order, and words in the workers' frame. */
typedef struct Arguments {
    uint32_t register_count, frame_count;
    struct {
        uint8_t number;
        uint32_t word;
    } reg[WORKER_REGISTERS];
    uint32_t frame[FRAME_WORDS];
} Arguments;

Status arguments_parse(Trial *trial, const TrialOptions *options, Arguments *arguments, Diag *diag);

/* profile.c ------------------------------------------------------------------------------------*/

/* What was issued in each cycle: 0 nothing, else context + 1, slots and word of the code. */
typedef struct IssueLog {
    VEC(uint32_t) cycles;
    uint64_t first; /* cycle of the first entry; what came before is not kept */
    bool no_memory;
} IssueLog;

enum { LOG_CONTEXT_BITS = 3, LOG_SLOT_BITS = 4 };
_Static_assert((CHIP_REGION1_BASE - CHIP_TILE_MEM_BASE) / 4 < 1 << 25, "words of code fit");

static inline unsigned log_context(uint32_t entry) {
    return (entry & ((1u << LOG_CONTEXT_BITS) - 1)) - 1;
}
static inline unsigned log_slots(uint32_t entry) {
    return entry >> LOG_CONTEXT_BITS & ((1u << LOG_SLOT_BITS) - 1);
}
static inline uint32_t log_word(uint32_t entry) {
    return entry >> (LOG_CONTEXT_BITS + LOG_SLOT_BITS);
}
static inline uint32_t log_address(uint32_t entry) {
    return CHIP_TILE_MEM_BASE + 4 * log_word(entry);
}

void log_issue(IssueLog *log, const MachineIssue *issue);
/* Fills trial->profile from the issues of the call. */
Status profile_make(Trial *trial, const AsmImage *stub, const AsmImage *image, const IssueLog *log,
                    Diag *diag);
/* Writes the issues as text. */
void profile_trace(const AsmImage *image, const IssueLog *log, FILE *out);
/* The packet at an address of the image; false if none. */
bool profile_packet(const AsmImage *image, uint32_t address, IsaMode mode, IsaPacket *packet);
