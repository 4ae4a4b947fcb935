/* Which rule each form follows, from its row in isa.def. */
#include "sim/shadow.h"

#include <stdlib.h>

/* Forms whose rule does not follow from their names and flags. */
static const uint8_t special[ISA_FORM_COUNT] = {
    [ISA_AND] = RULE_AND,
    [ISA_AND_U12] = RULE_AND,
    [ISA_AND_A] = RULE_AND,
    [ISA_AND_A_U12] = RULE_AND,
    [ISA_AND_A_HI12] = RULE_AND,
    [ISA_AND64] = RULE_AND,
    [ISA_ANDC] = RULE_ANDC,
    [ISA_ANDC_U12] = RULE_ANDC,
    [ISA_ANDC_A] = RULE_ANDC,
    [ISA_ANDC_A_U12] = RULE_ANDC,
    [ISA_ANDC_A_HI12] = RULE_ANDC,
    [ISA_ANDC64] = RULE_ANDC,
    [ISA_OR] = RULE_OR,
    [ISA_OR_U12] = RULE_OR,
    [ISA_OR_HI12] = RULE_OR,
    [ISA_OR_A] = RULE_OR,
    [ISA_OR_A_U12] = RULE_OR,
    [ISA_OR_A_HI12] = RULE_OR,
    [ISA_OR64] = RULE_OR,
    [ISA_XOR] = RULE_UNION,
    [ISA_XNOR] = RULE_UNION,
    [ISA_NOT_A] = RULE_UNION,
    [ISA_NOT64] = RULE_UNION,
    [ISA_ADD] = RULE_CARRY,
    [ISA_ADD_I16] = RULE_CARRY,
    [ISA_ADD_Z16] = RULE_CARRY,
    [ISA_SUB] = RULE_CARRY,
    [ISA_SUB_I16] = RULE_CARRY,
    [ISA_SUB_Z16] = RULE_CARRY,
    [ISA_MUL] = RULE_CARRY,
    [ISA_MUL_I16] = RULE_CARRY,
    [ISA_SHL] = RULE_SHIFT,
    [ISA_SHL_U12] = RULE_SHIFT,
    [ISA_SHR] = RULE_SHIFT,
    [ISA_SHR_U12] = RULE_SHIFT,
    [ISA_SHRS] = RULE_SHIFT,
    [ISA_SHRS_U12] = RULE_SHIFT,
    [ISA_MOVZ] = RULE_MOVE,
    [ISA_MOVNZ] = RULE_MOVE,
    [ISA_ATOM] = RULE_PERMUTE,
    [ISA_ROLL8R] = RULE_PERMUTE,
    [ISA_ROLL8L] = RULE_PERMUTE,
    [ISA_ROLL16] = RULE_PERMUTE,
    [ISA_SORT4X16LO] = RULE_PERMUTE,
    [ISA_SORT4X16HI] = RULE_PERMUTE,
    [ISA_SHUF8X8LO] = RULE_PERMUTE,
    [ISA_SHUF8X8HI] = RULE_PERMUTE,
    [ISA_SORT8X8LO] = RULE_PERMUTE,
    [ISA_SORT8X8HI] = RULE_PERMUTE,
    [ISA_SWAP16] = RULE_PERMUTE,
    [ISA_SORT8] = RULE_PERMUTE,
    [ISA_SWAP8] = RULE_PERMUTE,
    [ISA_BITREV8] = RULE_PERMUTE,
    [ISA_TAPACK] = RULE_PERMUTE,
    [ISA_SORT4X16LO_A] = RULE_PERMUTE,
    [ISA_SORT4X16HI_A] = RULE_PERMUTE,
    [ISA_ROLL16_A] = RULE_PERMUTE,
    [ISA_SORT4X16LO_A_BU] = RULE_PERMUTE,
    [ISA_SORT4X16HI_A_BL] = RULE_PERMUTE,
    [ISA_SORT4X32LO] = RULE_PERMUTE,
    [ISA_SORT4X32HI] = RULE_PERMUTE,
    [ISA_ROLL32] = RULE_PERMUTE,
    [ISA_ROLL8R_A] = RULE_PERMUTE,
    [ISA_ROLL8L_A] = RULE_PERMUTE,
    [ISA_SORT8X8LO_A] = RULE_PERMUTE,
    [ISA_SORT8X8HI_A] = RULE_PERMUTE,
    [ISA_SHUF8X8LO_A] = RULE_PERMUTE,
    [ISA_SHUF8X8HI_A] = RULE_PERMUTE,
    [ISA_LDD16A32] = RULE_CHAIN,
    [ISA_LDD16B16] = RULE_CHAIN,
    [ISA_LDD16A64] = RULE_CHAIN,
    [ISA_LDD16V2A32] = RULE_CHAIN,
    [ISA_LD64A32] = RULE_CHAIN,
    [ISA_LDB16B16] = RULE_CHAIN,
    [ISA_LD2X64PACE] = RULE_PACE,
    [ISA_LDST64PACE] = RULE_PACE,
    [ISA_LD2XST64PACE] = RULE_PACE,
    [ISA_ST64PACE] = RULE_PACE,
    [ISA_LD64A32PACE] = RULE_PACE,
    [ISA_LD64B16PACE] = RULE_PACE,
    [ISA_LD64PUTCS] = RULE_WEIGHTS,
    [ISA_LD128PUTCS] = RULE_WEIGHTS,
    [ISA_F16V2MAXC] = RULE_ANY,
    [ISA_F16V4MAXC] = RULE_ANY,
    [ISA_F16V2SUM] = RULE_ANY,
    [ISA_F16V4SUM] = RULE_ANY,
    [ISA_F32CLAMP] = RULE_ANY,
    [ISA_F32V2CLAMP] = RULE_ANY,
    [ISA_F16V2CLAMP] = RULE_ANY,
    [ISA_F16V4CLAMP] = RULE_ANY,
    [ISA_F32V2RMASK] = RULE_ANY,
    [ISA_F16V4RMASK] = RULE_ANY,
    [ISA_F16V2TOF8] = RULE_ANY,
    [ISA_F8V2TOF16] = RULE_ANY,
};

static FormRule rules[ISA_FORM_COUNT];

static void find_operands(FormRule *rule, const IsaFormInfo *info) {
    unsigned index = 0;
    for (unsigned i = 0; i < info->operand_count; i++) {
        const IsaOperand *operand = &info->operand[i];
        bool aux;
        unsigned count = isa_operand_registers(operand, &aux);
        rule->immediate = count == 0;
        if (count > 0 && index < COUNT_OF(rule->operand)) {
            rule->operand[index] =
                (RuleOperand){(uint8_t)index, (uint8_t)count,  operand->kind, aux,
                              operand->read,  operand->written};
            index++;
        }
    }
    rule->operand_count = (uint8_t)index;
}

/* "f16v4add" has four lanes. */
static unsigned lanes_of(const char *mnemonic) {
    const char *v = strchr(mnemonic, 'v');
    return v && v[1] >= '2' && v[1] <= '8' ? (unsigned)(v[1] - '0') : 1;
}

/* "ldz16step": zero extended, 2 bytes. */
static void find_access(FormRule *rule, const IsaFormInfo *info) {
    const char *name = info->mnemonic, *digits = name;
    while (*digits < '0' || *digits > '9')
        digits++;
    rule->size = (uint8_t)(strtoul(digits, NULL, 10) / 8);
    rule->sign = strncmp(name, "lds", 3) == 0;
    rule->spread = strncmp(name, "ldb", 3) == 0;
    rule->addressing = strstr(name, "step") ? ADDRESS_STEP
                       : rule->immediate    ? ADDRESS_IMM
                                            : ADDRESS_REG;
}

static Rule rule_of(IsaForm form, const IsaFormInfo *info) {
    const unsigned elsewhere = ISA_F_SYSTEM | ISA_F_EXCHANGE;
    if (special[form])
        return special[form];
    if (info->flags & (ISA_F_BRANCH | ISA_F_EXIT | ISA_F_REPEAT))
        return RULE_BRANCH;
    if (info->flags & elsewhere || form == ISA_UGET || form == ISA_UPUT)
        return RULE_CONTROL;
    if (info->flags & ISA_F_AACC)
        return RULE_ACCUMULATORS;
    if (info->flags & ISA_F_LOAD)
        return RULE_LOAD;
    if (info->flags & ISA_F_STORE)
        return RULE_STORE;
    return info->lane == ISA_LANE_AUX && info->mnemonic[0] == 'f' ? RULE_LANES : RULE_ANY;
}

static void find_rules(void) {
    for (unsigned form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        FormRule *rule = &rules[form];
        find_operands(rule, info);
        rule->rule = (uint8_t)rule_of((IsaForm)form, info);
        rule->lanes = (uint8_t)lanes_of(info->mnemonic);
        if (rule->rule == RULE_LOAD || rule->rule == RULE_STORE)
            find_access(rule, info);
    }
}

const FormRule *shadow_rule(IsaForm form) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_rules);
    return &rules[form];
}
