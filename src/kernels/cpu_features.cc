// SPDX-License-Identifier: Apache-2.0
// Asks the processor (cpuid on x86, the kernel's hwcaps on ARM) what it has.
#include "kernels/cpu_features.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <cstring>
#include <utility>

namespace whinchat::kernels {
namespace {

#if defined(__x86_64__)

// __builtin_cpu_supports also asks whether the system saves the registers (XCR0).
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
}

bool HasAvx512Vnni() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// Linux saves the 8 KB of tile state only for a process that has asked; its threads inherit it.
bool RequestTileState() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileState = 18;              // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileState) == 0;
}

bool HasIsa(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return HasAvx2();
    case Isa::kAvxVnni:
      return HasAvx2() && __builtin_cpu_supports("avxvnni");
    case Isa::kAvx512Vnni:
      return HasAvx512Vnni();
    case Isa::kAmx:
      return HasAvx512Vnni() && __builtin_cpu_supports("amx-tile") &&
             __builtin_cpu_supports("amx-int8") && RequestTileState();
    case Isa::kNeon:
    case Isa::kDotprod:
    case Isa::kI8mm:
      return false;
  }
  return false;
}

// The processor's brand string, 48 bytes in three leaves.
std::string CpuName() {
  if (__get_cpuid_max(0x80000000U, nullptr) < 0x80000004U) {
    return "x86-64 processor";
  }
  std::array<unsigned, 12> words = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const word = &words[leaf * 4];
    __get_cpuid(0x80000002U + leaf, word, word + 1, word + 2, word + 3);
  }
  std::array<char, sizeof(words) + 1> name = {};
  std::memcpy(name.data(), words.data(), sizeof(words));
  const std::string text = name.data();
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "x86-64 processor" : text.substr(begin);
}

std::string CpuFlags() {
  std::string flags;
  const std::pair<const char*, bool> known[] = {
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"f16c", __builtin_cpu_supports("f16c") != 0},
      {"avx_vnni", __builtin_cpu_supports("avxvnni") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512_vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {"avx512_bf16", __builtin_cpu_supports("avx512bf16") != 0},
      {"amx_int8", __builtin_cpu_supports("amx-int8") != 0},
  };
  for (const auto& [name, is_present] : known) {
    if (is_present) {
      flags += ' ';
      flags += name;
    }
  }
  return flags;
}

#elif defined(__aarch64__)

bool HasIsa(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kNeon:
      return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0;
    case Isa::kDotprod:
      return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 &&
             (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0;
    case Isa::kI8mm:
      return HasIsa(Isa::kDotprod) && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
    default:
      return false;
  }
}

std::string CpuName() {
  return "aarch64 processor";
}

std::string CpuFlags() {
  std::string flags;
  flags += HasIsa(Isa::kNeon) ? " asimd" : "";
  flags += HasIsa(Isa::kDotprod) ? " asimddp asimdhp" : "";
  flags += HasIsa(Isa::kI8mm) ? " i8mm" : "";
  return flags;
}

#else

bool HasIsa(Isa isa) {
  return isa == Isa::kScalar;
}
std::string CpuName() {
  return "unknown processor";
}
std::string CpuFlags() {
  return "";
}

#endif

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvxVnni:
      return "avxvnni";
    case Isa::kAvx512Vnni:
      return "avx512vnni";
    case Isa::kAmx:
      return "amx";
    case Isa::kNeon:
      return "neon";
    case Isa::kDotprod:
      return "dotprod";
    case Isa::kI8mm:
      return "i8mm";
  }
  return "unknown";
}

std::vector<Isa> AvailableIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kScalar,
                        Isa::kAvx2,
                        Isa::kAvxVnni,
                        Isa::kAvx512Vnni,
                        Isa::kAmx,
                        Isa::kNeon,
                        Isa::kDotprod,
                        Isa::kI8mm}) {
    if (HasIsa(isa)) {
      isas.push_back(isa);
    }
  }
  return isas;
}

std::string DescribeCpu() {
  return CpuName() + ":" + CpuFlags();
}

}  // namespace whinchat::kernels
