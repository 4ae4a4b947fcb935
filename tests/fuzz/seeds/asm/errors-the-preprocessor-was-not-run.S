#define X 1
#include "a.h"
    nop
