// SPDX-License-Identifier: Apache-2.0
// Reader of the golden logits that python/golden/make_model_golden.py writes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/token_id.h"

namespace whinchat {

constexpr size_t kGoldenTop = 64;

struct GoldenPosition {
  uint32_t position = 0;
  float logsumexp = 0;
  std::array<uint16_t, kGoldenTop> token_ids = {};  // of the highest logits, highest first
  std::array<float, kGoldenTop> logits = {};
};

struct GoldenPrompt {
  std::vector<TokenId> tokens;
  std::vector<TokenId> greedy_tokens;  // may be empty
  std::vector<GoldenPosition> positions;
};

inline std::vector<GoldenPrompt> ReadGoldenLogits(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  const auto read = [&](auto* values, size_t count) {
    file.read(reinterpret_cast<char*>(values),
              static_cast<std::streamsize>(count * sizeof(*values)));
  };
  std::string magic(8, ' ');
  read(magic.data(), magic.size());
  if (magic != "WCGOLDEN") {
    throw std::runtime_error(path.string() + " holds no golden logits");
  }
  uint32_t num_prompts = 0;
  read(&num_prompts, 1);
  std::vector<GoldenPrompt> prompts(num_prompts);
  for (GoldenPrompt& prompt : prompts) {
    std::array<uint32_t, 3> sizes = {};
    read(sizes.data(), sizes.size());
    prompt.tokens.resize(sizes[0]);
    prompt.positions.resize(sizes[1]);
    prompt.greedy_tokens.resize(sizes[2]);
    read(prompt.tokens.data(), prompt.tokens.size());
    read(prompt.greedy_tokens.data(), prompt.greedy_tokens.size());
    for (GoldenPosition& position : prompt.positions) {
      read(&position.position, 1);
      read(&position.logsumexp, 1);
      read(position.token_ids.data(), kGoldenTop);
      read(position.logits.data(), kGoldenTop);
    }
  }
  return prompts;
}

}  // namespace whinchat
