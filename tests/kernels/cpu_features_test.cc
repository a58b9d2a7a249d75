// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "base/error.h"
#include "kernels/kernel_table.h"

namespace whinchat::kernels {
namespace {

// Sets WHINCHAT_ISA for one test and puts back what was there.
class IsaVariable {
 public:
  explicit IsaVariable(const char* value) {
    if (const char* const before = std::getenv("WHINCHAT_ISA")) {
      before_ = before;
      was_set_ = true;
    }
    setenv("WHINCHAT_ISA", value, /*overwrite=*/1);
  }
  ~IsaVariable() {
    if (was_set_) {
      setenv("WHINCHAT_ISA", before_.c_str(), /*overwrite=*/1);
    } else {
      unsetenv("WHINCHAT_ISA");
    }
  }
  IsaVariable(const IsaVariable&) = delete;
  IsaVariable& operator=(const IsaVariable&) = delete;

 private:
  std::string before_;
  bool was_set_ = false;
};

TEST(CpuFeatures, AvailableIsasStartWithScalarAndRise) {
  const std::vector<Isa> isas = AvailableIsas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::kScalar);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
  EXPECT_EQ(std::set<Isa>(isas.begin(), isas.end()).size(), isas.size());
}

TEST(CpuFeatures, EveryIsaHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Isa isa : {Isa::kScalar,
                        Isa::kAvx2,
                        Isa::kAvxVnni,
                        Isa::kAvx512Vnni,
                        Isa::kAmx,
                        Isa::kNeon,
                        Isa::kDotprod,
                        Isa::kI8mm}) {
    names.insert(IsaName(isa));
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(CpuFeatures, DescriptionNamesTheProcessor) {
  EXPECT_GT(DescribeCpu().size(), 2U);
}

TEST(KernelTable, EachAvailableIsaHasAllMatmuls) {
  for (const Isa isa : AvailableIsas()) {
    const KernelTable* const table = FindKernelTable(isa);
    ASSERT_NE(table, nullptr) << IsaName(isa);
    EXPECT_EQ(table->isa, isa);
    for (const PackedType type : {PackedType::kF32,
                                  PackedType::kBF16,
                                  PackedType::kW8G32,
                                  PackedType::kW8G32Min,
                                  PackedType::kW4G32,
                                  PackedType::kW4G32Min}) {
      EXPECT_NE(table->MatmulFor(type), nullptr) << IsaName(isa) << ' ' << PackedTypeName(type);
    }
  }
}

TEST(KernelTable, AbsentIsaHasNoTable) {
#if defined(__x86_64__)
  EXPECT_EQ(FindKernelTable(Isa::kNeon), nullptr);
#else
  EXPECT_EQ(FindKernelTable(Isa::kAvx2), nullptr);
#endif
}

TEST(KernelTable, VariablePicksALowerIsa) {
  const IsaVariable variable("scalar");
  EXPECT_EQ(SelectKernelTable().isa, Isa::kScalar);
}

TEST(KernelTable, EmptyVariablePicksTheHighestIsa) {
  const IsaVariable variable("");
  EXPECT_EQ(SelectKernelTable().isa, AvailableIsas().back());
}

TEST(KernelTable, UnknownIsaIsAnErrorThatListsTheAvailableOnes) {
  const IsaVariable variable("mmx");
  try {
    SelectKernelTable();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message().find("'mmx'"), std::string::npos);
    EXPECT_NE(error.message().find("scalar"), std::string::npos);
  }
}

}  // namespace
}  // namespace whinchat::kernels
