/* Internal: the tables of the levels that this build has. */
#pragma once

#include "num/amp.h"
#include "num/f8.h"

#if defined(__x86_64__)
#define NUM_HAS_X86 1
extern const CodecTable codec_table_avx2, codec_table_avx512;
extern const AmpTable amp_table_avx2, amp_table_avx512;
#else
#define NUM_HAS_X86 0
#endif
