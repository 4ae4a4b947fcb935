/* Generated SigLIP towers and inputs: exact on every machine, for tests, benches and first steps.
 */
#pragma once

#include "quant/siglip.h"

/* Values of the stream seeded with FNV-1a-64(name) XOR 143: mean + std·√3·(n·2⁻²⁴ − 2), n the sum
 * of the upper 40-bit shifts of four outputs, rounded to float32. Mean and std follow from the name
 * and, as 1/√fan_in, from the product of all dimensions but the first. */
void generate_tensor(const char *name, uint64_t count, uint64_t fan_in, float *values);

/* Writes config.json and model.safetensors of a tower into a new folder, and, with count > 0,
 * images.safetensors with pixel_values [count,3,size,size]. Errors: ERR_FILE_*, ERR_QUANT_OUTPUT.
 */
Status generate_model(const SiglipConfig *config, const char *folder, uint32_t count, Diag *diag);
