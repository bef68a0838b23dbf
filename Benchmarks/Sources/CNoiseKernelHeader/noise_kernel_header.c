#include "noise_kernel_header.h"
