#ifndef NOISE_KERNEL_HEADER_H
#define NOISE_KERNEL_HEADER_H

// The kernel is no product of the package; NoiseCapturer brings its code along, and this its declarations.
#include "../../../../Sources/System/CNoiseKernel/include/noise_kernel.h"

#endif
