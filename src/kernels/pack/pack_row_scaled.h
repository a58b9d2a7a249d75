// SPDX-License-Identifier: Apache-2.0
// Panels of the types with row scales: whole rows as fp32 are rounded, whatever the source holds.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/pack/pack.h"

namespace whinchat::kernels {

// PackPanel for kW8 and kW4. Allocates one row of scratch memory.
PackResult PackRowScaledPanel(
    PackedType type, DType dtype, std::span<const SourceRow> rows, int k, std::byte* panel);

}  // namespace whinchat::kernels
