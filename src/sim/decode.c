/* Words to packets: operands resolved to register numbers, the function that executes each half,
 * and in which order the halves may run. */
#include "base/cpu.h"
#include "sim/internal.h"

#include <assert.h>

/* Registers of one instruction by file, a bit each. */
typedef struct Registers {
    uint32_t main_read, main_written, aux_read, aux_written;
} Registers;

static Registers instr_registers(const IsaInstr *instr, const IsaFormInfo *info) {
    Registers set = {0};
    for (unsigned i = 0; i < info->operand_count; i++) {
        bool aux;
        unsigned count = isa_operand_registers(&info->operand[i], &aux);
        uint32_t mask = ((1u << count) - 1) << (instr->operand[i] & 15);
        if (info->operand[i].read)
            *(aux ? &set.aux_read : &set.main_read) |= mask;
        if (info->operand[i].written)
            *(aux ? &set.aux_written : &set.main_written) |= mask;
    }
    return set;
}

/* A register that is only written gets the number of a spare one if the chip drops the write. */
static uint8_t register_number(const IsaOperand *operand, int32_t number, bool aux) {
    if (operand->read)
        return (uint8_t)number;
    if (aux)
        return (uint8_t)(number < 8 ? number : number + SPARE_AUX);
    return (uint8_t)(number < 12 ? number : number + SPARE_MAIN);
}

static void decode_half(Half *half, const IsaInstr *instr, const IsaFormInfo *info) {
    unsigned registers = 0, immediates = 0;
    half->run = exec_function((IsaForm)instr->form);
    assert(half->run);
    half->run_group = exec_group_function((IsaForm)instr->form);
    for (unsigned i = 0; i < info->operand_count; i++) {
        const IsaOperand *operand = &info->operand[i];
        bool aux;
        if (isa_operand_registers(operand, &aux) > 0)
            half->r[registers++] = register_number(operand, instr->operand[i], aux);
        else if (immediates++ == 0)
            half->imm = instr->operand[i];
        else if (immediates == 2)
            half->r[3] = (uint8_t)instr->operand[i];
    }
}

static Shape bundle_shape(Registers main_half, Registers aux_half, int32_t *status) {
    if (main_half.aux_written & aux_half.aux_written) {
        *status = ERR_SIM_WRITE_OVERLAP;
        return SHAPE_INVALID;
    }
    const uint32_t real = 0xFF; /* $a8 … $a15 cannot change */
    if (!(main_half.aux_written & aux_half.aux_read & real))
        return SHAPE_MAIN_AUX;
    return aux_half.aux_written & main_half.aux_read & real ? SHAPE_CROSSED : SHAPE_AUX_MAIN;
}

bool decode_body_is_legal(const uint32_t *words, uint32_t bundles) {
    const unsigned banned = ISA_F_CONTROL | ISA_F_SYSTEM;
    for (uint32_t i = 0; i < bundles; i++) {
        IsaPacket packet;
        if (!isa_decode_packet(words + 2 * i, 2, ISA_WORKER, &packet) || packet.size != 8)
            return false;
        if (isa_form_info((IsaForm)packet.main.form)->flags & banned ||
            isa_form_info((IsaForm)packet.aux.form)->flags & banned)
            return false;
    }
    return true;
}

static bool decode_invalid(Packet *packet, Status status) {
    packet->shape = SHAPE_INVALID;
    packet->advance = 1;
    packet->main.imm = (int32_t)status;
    return false;
}

/* Finds the instruction at words[0] in either mode; false when there is none in this page. */
static bool decode_words(Packet *packet, const uint32_t *words, size_t count, IsaPacket *isa) {
    bool worker = isa_decode_packet(words, count, ISA_WORKER, isa);
    if (!worker && !isa_decode_packet(words, count, ISA_SUPERVISOR, isa)) {
        if (count == 1 && words[0] & ISA_BUNDLE_BIT) {
            packet->shape = SHAPE_STRADDLE;
            packet->advance = 1;
            return false;
        }
        return decode_invalid(packet, ERR_SIM_WORD);
    }
    if (!worker)
        packet->shape = SHAPE_SUPERVISOR;
    return true;
}

static void decode_repeat(Packet *packet, const uint32_t *words, size_t count) {
    bool immediate = packet->main_form == ISA_RPT_U12;
    uint32_t bundles = (immediate ? packet->main.r[3] : (uint32_t)packet->main.imm) + 1;
    if (packet->advance + 2 * bundles <= count &&
        decode_body_is_legal(words + packet->advance, bundles))
        packet->flags |= PACKET_BODY_LEGAL;
}

/* nop and fnop. */
static bool is_idle(const IsaInstr *instr) {
    return (instr->form == ISA_SETZI && instr->operand[0] >= 12) ||
           (instr->form == ISA_SETZI_A && instr->operand[0] >= 8);
}

static void note_effects(Packet *packet, const IsaPacket *isa) {
    const unsigned elsewhere =
        ISA_F_CONTROL | ISA_F_BRANCH | ISA_F_SYSTEM | ISA_F_EXIT | ISA_F_REPEAT | ISA_F_EXCHANGE;
    unsigned flags = 0;
    if (isa->main.form)
        flags |= isa_form_info((IsaForm)isa->main.form)->flags;
    if (isa->aux.form)
        flags |= isa_form_info((IsaForm)isa->aux.form)->flags;
    if (!(flags & elsewhere))
        packet->flags |= PACKET_STRAIGHT;
    if (flags & ISA_F_STORE)
        packet->flags |= PACKET_STORES;
    if (!isa->main.form || is_idle(&isa->main))
        packet->flags |= PACKET_IDLE_MAIN;
    if (!isa->aux.form || is_idle(&isa->aux))
        packet->flags |= PACKET_IDLE_AUX;
}

static void note_crossing(Packet *packet, uint32_t registers) {
    unsigned first = (unsigned)__builtin_ctz(registers);
    packet->crossed_first = (uint8_t)first;
    packet->crossed_words = (uint8_t)(32 - (unsigned)__builtin_clz(registers) - first);
}

void decode_packet(Packet *packet, const uint32_t *words, size_t count) {
    IsaPacket isa;
    *packet = (Packet){.shape = SHAPE_MAIN};
    if (!decode_words(packet, words, count, &isa))
        return;
    packet->advance = isa.size / 4;
    packet->slots = isa.slots;
    packet->main_form = isa.main.form;
    packet->aux_form = isa.aux.form;
    Registers main_half = {0}, aux_half = {0};
    unsigned flags = 0;
    if (isa.main.form) {
        const IsaFormInfo *info = isa_form_info((IsaForm)isa.main.form);
        main_half = instr_registers(&isa.main, info);
        decode_half(&packet->main, &isa.main, info);
        flags = info->flags;
        const uint32_t worker_only = 1u << 12 | 1u << 13;
        if (!isa.aux.form && info->modes & ISA_SUPERVISOR && !(main_half.main_read & worker_only))
            packet->flags |= PACKET_SUPERVISOR;
        if (isa.main.form == ISA_LD64PUTCS || isa.main.form == ISA_LD128PUTCS)
            packet->flags |= PACKET_COEFFICIENT;
    }
    if (isa.aux.form) {
        const IsaFormInfo *info = isa_form_info((IsaForm)isa.aux.form);
        aux_half = instr_registers(&isa.aux, info);
        decode_half(&packet->aux, &isa.aux, info);
        packet->shape = isa.main.form
                            ? (uint8_t)bundle_shape(main_half, aux_half, &packet->main.imm)
                            : SHAPE_AUX;
    }
    note_effects(packet, &isa);
    if (packet->shape == SHAPE_CROSSED)
        note_crossing(packet, aux_half.aux_written & main_half.aux_read & 0xFF);
    packet->reads = (uint16_t)(main_half.main_read & 0xFFF);
    /* Of a bundle, which no supervisor runs: the arithmetic registers (execute_crossed). */
    packet->writes =
        (uint16_t)(isa.aux.form ? main_half.aux_written & 0xFF : main_half.main_written & 0xFFF);
    if (flags & ISA_F_REPEAT)
        decode_repeat(packet, words, count);
}

/* In the order in which they are asked. */
typedef struct Tables {
    const ExecTable *exec;
    const GroupTable *group;
} Tables;
static const Tables tables[] = {
    {&exec_rows, &group_rows}, {&exec_f16c, &group_f16c},   {&exec_int, &group_int},
    {&exec_mem, &group_mem},   {&exec_float, &group_float}, {&exec_amp, NULL},
    {&exec_system, NULL},
};
enum { ROWS, F16C };

static bool has_f16c;
static void find_level(void) {
    has_f16c = cpu_level() >= CPU_AVX2;
}

/* The first tables from `first` on that have the form, or NULL. */
static const Tables *tables_of(IsaForm form, size_t first) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_level);
    for (size_t i = first; i < COUNT_OF(tables); i++)
        if ((*tables[i].exec)[form] && (has_f16c || i != F16C))
            return &tables[i];
    return NULL;
}

ExecFunction exec_function(IsaForm form) {
    const Tables *found = tables_of(form, ROWS);
    return found ? (*found->exec)[form] : NULL;
}

ExecFunction exec_function_plain(IsaForm form) {
    return (*tables_of(form, F16C)->exec)[form];
}

static void run_each(Context *first, Context *end, const Half *half) {
    for (Context *c = first; c < end; c++)
        half->run(c, half);
}

GroupFunction exec_group_function(IsaForm form) {
    const Tables *found = tables_of(form, ROWS);
    return found && found->group && (*found->group)[form] ? (*found->group)[form] : run_each;
}

bool sim_form_is_implemented(IsaForm form) {
    return form > ISA_INVALID && form < ISA_FORM_COUNT && exec_function(form);
}
