/* All of Tilework's public interface. */
#pragma once

#include "tilework/assembly.h"
#include "tilework/base.h"
#include "tilework/bench.h"
#include "tilework/compile.h"
#include "tilework/kernel.h"
#include "tilework/package.h"
#include "tilework/profile.h"
#include "tilework/quantize.h"
#include "tilework/run.h"
