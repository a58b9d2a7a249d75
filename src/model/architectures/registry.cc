// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "model/architectures/architecture.h"

namespace whinchat {
namespace {

constexpr std::array kArchitectures = {
    &kLlamaArchitecture,
    &kQwen2Architecture,
    &kQwen3Architecture,
};

}  // namespace

const Architecture* FindArchitecture(std::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    if (architecture->name == name) {
      return architecture;
    }
  }
  return nullptr;
}

std::string KnownArchitectureNames() {
  std::string names;
  for (const Architecture* architecture : kArchitectures) {
    names += names.empty() ? "" : ", ";
    names += architecture->name;
  }
  return names;
}

}  // namespace whinchat
