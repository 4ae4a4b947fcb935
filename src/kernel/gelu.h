/* Internal: what the GELU kernels of gelu.S and gelu_turn.S have in common. */
#pragma once

#include "kernel/launch.h"

enum { GELU_NFMT_F143 = 2 }; /* $FP_NFMT: the arithmetic registers' side is F143 */

Status gelu_check(const KernelSpec *spec, Diag *diag);
void gelu_interface(const KernelSpec *spec, KernelInterface *result);
void gelu_reference(const KernelSpec *spec, void *const operands[], const int32_t scalars[]);
bool gelu_equal(const KernelSpec *a, const KernelSpec *b);

/* Appends the scalars behind the scale. */
void gelu_turn_interface(const KernelGelu *gelu, KernelInterface *result);
