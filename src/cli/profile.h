/* What bench and profile print of a profile. */
#pragma once

#include "cli/cli.h"

/* Adds cycles_by_cause to the report. */
void profile_put_causes(Cli *cli, const TwProfile *profile);
/* Prints each cause that has cycles, and its share. */
void profile_print_causes(const TwProfile *profile);
