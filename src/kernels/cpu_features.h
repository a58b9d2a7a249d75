// SPDX-License-Identifier: Apache-2.0
// What this processor can do, asked once at start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace whinchat::kernels {

// Low to high on each architecture. A name is also the suffix of the kernel files.
enum class Isa { kScalar, kAvx2, kAvxVnni, kAvx512Vnni, kAmx, kNeon, kDotprod, kI8mm };

// "scalar", "avx2", ..., as WHINCHAT_ISA and file names write it.
std::string_view IsaName(Isa isa);

// The ISAs that this processor and this build have, lowest first; always starts with kScalar.
std::vector<Isa> AvailableIsas();

// The processor's name and the flags that matter here, for reports.
std::string DescribeCpu();

}  // namespace whinchat::kernels
