/* What bench and profile print of a profile. */
#pragma once

#include "cli/cli.h"

/* Adds the causes of all figures, phases and kernels to the report. */
TwStatus profile_put(Cli *cli, const TwProfile *profile);
/* Prints each cause that has cycles in all figures, and its share. */
void profile_print_causes(const TwProfile *profile);
