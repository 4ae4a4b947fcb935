#include "kernel/step.h"

#include "base/mem.h"
#include "chip/chip.h"

bool kernel_scalar_is_long(int32_t scalar) {
    return scalar < INT16_MIN || scalar >= 1 << 20;
}

static uint32_t count_long(const KernelInterface *interface, const int32_t scalars[]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < interface->scalar_count; i++)
        count += kernel_scalar_is_long(scalars[i]);
    return count;
}

uint32_t kernel_step_words(const KernelSpec *spec, const int32_t scalars[]) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    return interface.operand_count + interface.scalar_count + count_long(&interface, scalars) + 1;
}

uint64_t kernel_step_cycles(const KernelSpec *spec, const int32_t scalars[], unsigned start) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    uint32_t lead = interface.operand_count + interface.scalar_count;
    uint32_t completed = count_long(&interface, scalars);
    if (completed)
        lead = MAX_OF(lead, (uint32_t)CHIP_SUP_RESULT_LATENCY) + completed;
    return lead + kernel_cycles(spec, (start + lead) % CHIP_WORKER_SLOTS);
}
