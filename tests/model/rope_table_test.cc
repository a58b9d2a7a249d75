// SPDX-License-Identifier: Apache-2.0
#include "model/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tiny_models.h"

namespace whinchat {
namespace {

void Fill(RopeTable* table, int num_positions, int num_threads) {
  ThreadPool pool(num_threads);
  pool.Run([&](Worker& worker) { table->FillShare(num_positions, worker); });
  table->MarkFilled(num_positions);
}

TEST(RopeTable, HoldsCosinesAndSinesOfEveryPosition) {
  const ModelConfig config = TinyQwen3();
  RopeTable table(config, {});
  Fill(&table, 300, 3);
  for (const int position : {0, 1, 99, 299}) {
    for (int i = 0; i < config.head_dim / 2; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * i / config.head_dim);
      EXPECT_NEAR(table.Cos(position)[i], std::cos(angle), 1e-7) << position << " " << i;
      EXPECT_NEAR(table.Sin(position)[i], std::sin(angle), 1e-7) << position << " " << i;
    }
  }
}

TEST(RopeTable, GrowsToTheSameValuesAsFilledAtOnce) {
  const ModelConfig config = TinyQwen3();
  RopeTable at_once(config, {});
  Fill(&at_once, 500, 1);
  RopeTable grown(config, {});
  for (const int num_positions : {1, 2, 130, 131, 500, 40}) {
    Fill(&grown, num_positions, 2);
  }
  for (int position = 0; position < 500; ++position) {
    for (int i = 0; i < config.head_dim / 2; ++i) {
      ASSERT_EQ(grown.Cos(position)[i], at_once.Cos(position)[i]) << position << " " << i;
      ASSERT_EQ(grown.Sin(position)[i], at_once.Sin(position)[i]) << position << " " << i;
    }
  }
}

TEST(RopeTable, Llama3KeepsShortWavesAndStretchesLongOnes) {
  ModelConfig config = TinyLlama();
  config.head_dim = 128;
  config.rope_theta = 500000.0F;
  config.rope_scaling = {RopeScalingKind::kLlama3, 8.0F, 1.0F, 4.0F, 8192};
  const std::vector<double> scaled = RopeTable(config, {}).inverse_frequencies();
  config.rope_scaling = {};
  const std::vector<double> plain = RopeTable(config, {}).inverse_frequencies();
  ASSERT_EQ(scaled.size(), 64U);
  int num_blended = 0;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / plain[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(scaled[i], plain[i]) << i;
    } else if (wavelength > 8192.0) {
      EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 8) << i;
    } else {
      EXPECT_LT(scaled[i], plain[i]) << i;
      EXPECT_GT(scaled[i], plain[i] / 8) << i;
      ++num_blended;
    }
  }
  EXPECT_GT(num_blended, 2);
}

TEST(RopeTable, LinearScalingAndFactorsDivideFrequencies) {
  ModelConfig config = TinyLlama();
  const std::vector<double> plain = RopeTable(config, {}).inverse_frequencies();
  config.rope_scaling.kind = RopeScalingKind::kLinear;
  config.rope_scaling.factor = 4.0F;
  std::vector<float> factors(8, 1.0F);
  factors[7] = 32.0F;
  const std::vector<double> scaled = RopeTable(config, factors).inverse_frequencies();
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 4) << i;
  }
  EXPECT_DOUBLE_EQ(scaled[7], plain[7] / 128);
}

}  // namespace
}  // namespace whinchat
