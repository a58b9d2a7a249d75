// SPDX-License-Identifier: Apache-2.0
// Attention: every ISA against the definition in attention.h, written out plainly here, bit for
// bit; the definition against softmax attention in double precision.
#include "kernels/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel_table.h"
#include "tensor/kv_layout.h"

namespace whinchat::kernels {
namespace {

constexpr int kSpanTokens = kAttentionSpanTokens;
constexpr int kNumSpanBlocks = kSpanTokens / kKvBlockTokens;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::array kHeadDims = {16, 32, 64, 80, 96, 112, 128, 256};

size_t Size(int n) {
  return static_cast<size_t>(n);
}

struct Result {
  std::vector<float> out;  // [num_queries, head_dim]
  std::vector<float> max;
  std::vector<float> sum;

  Result(int num_queries, int head_dim)
      : out(Size(num_queries * head_dim), std::numeric_limits<float>::quiet_NaN()),
        max(Size(num_queries), std::numeric_limits<float>::quiet_NaN()),
        sum(max) {}
};

testing::AssertionResult SameBits(const std::vector<float>& got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(float)) != 0) {
      return testing::AssertionFailure()
             << "first difference at " << i << ": " << got[i] << " and " << want[i];
    }
  }
  return testing::AssertionResult(got.size() == want.size());
}

testing::AssertionResult SameBits(const Result& got, const Result& want) {
  for (const auto& [a, b, name] : {std::tuple{&got.max, &want.max, "max"},
                                   std::tuple{&got.sum, &want.sum, "sum"},
                                   std::tuple{&got.out, &want.out, "out"}}) {
    if (testing::AssertionResult same = SameBits(*a, *b); !same) {
      return same << " in " << name;
    }
  }
  return testing::AssertionSuccess();
}

// How the keys and values of a span are made.
enum class Content { kNormal, kZeroKeys, kZeroValues, kExtreme, kTiny };

// A span of 256 tokens in both layouts, some queries, and what a call needs. Slots past
// `num_tokens` hold 0xFF bytes: NaN as a scale, so that whoever uses them is found out.
class Span {
 public:
  Span(int head_dim,
       int num_queries,
       int num_tokens,
       uint32_t seed,
       Content content = Content::kNormal)
      : head_dim_(head_dim), num_tokens_(num_tokens) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>* x, int rows, float deviation) {
      x->resize(Size(rows * head_dim));
      std::generate(x->begin(), x->end(), [&] { return deviation * normal(generator); });
    };
    fill(&queries, num_queries, content == Content::kExtreme ? 40.0F : 1.0F);
    fill(&keys, num_tokens, content == Content::kZeroKeys ? 0.0F : 1.0F);
    fill(&values,
         num_tokens,
         content == Content::kZeroValues ? 0.0F
         : content == Content::kTiny     ? 1e-33F
                                         : 1.0F);
    if (content == Content::kExtreme) {
      // Every code +127 or -127: the greatest integer sums, and saturation where a kernel has it.
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = i / Size(head_dim) % 3 == 0 ? 1.0F : -1.0F;
        values[i] = i / Size(head_dim) % 5 == 0 ? 1.0F : -1.0F;
      }
      for (size_t i = 0; i < queries.size(); ++i) {
        queries[i] = i / Size(head_dim) % 2 == 0 ? 1.0F : -1.0F;
      }
    }
    num_visible.assign(Size(num_queries), num_tokens);
    WriteBlocks();
    QuantizeQueries(num_queries);
  }

  AttentionSpanArgs Args(Result* result) const { return Args(0, NumQueries(), result); }

  // The call for queries [first, first + count).
  AttentionSpanArgs Args(int first, int count, Result* result) const {
    const size_t offset = Size(first * head_dim_);
    return {.q_codes = q_codes.data() + offset,
            .q_scales = q_scales.data() + first,
            .q_sums = q_sums.data() + first,
            .q_f32 = queries.data() + offset,
            .softmax_scale = SoftmaxScale(),
            .num_visible = num_visible.data() + first,
            .num_queries = count,
            .head_dim = head_dim_,
            .heads = int8_heads.data(),
            .out = result->out.data(),
            .max = result->max.data(),
            .sum = result->sum.data()};
  }
  AttentionSpanArgs ArgsF32(Result* result) const {
    AttentionSpanArgs args = Args(result);
    args.heads = f32_heads.data();
    return args;
  }

  int NumQueries() const { return static_cast<int>(num_visible.size()); }
  float SoftmaxScale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim_)); }

  std::vector<float> queries, keys, values;
  std::vector<int> num_visible;
  std::vector<int8_t> q_codes;
  std::vector<float> q_scales;
  std::vector<int32_t> q_sums;
  std::array<const std::byte*, kNumSpanBlocks> int8_heads = {};
  std::array<const std::byte*, kNumSpanBlocks> f32_heads = {};

 private:
  void WriteBlocks() {
    const ElementwiseKernels scalar = MakeElementwiseKernels(Isa::kScalar);
    const KvLayout int8 = {.dtype = KvDType::kInt8, .head_dim = head_dim_};
    const KvLayout f32 = {.dtype = KvDType::kF32, .head_dim = head_dim_};
    for (int b = 0; b * kKvBlockTokens < num_tokens_; ++b) {
      // Float storage gives the alignment that scales need.
      blocks_.emplace_back(int8.HeadBytes() / sizeof(float));
      auto* const int8_head = reinterpret_cast<std::byte*>(blocks_.back().data());
      blocks_.emplace_back(f32.HeadBytes() / sizeof(float), std::nanf("0x3FFFFF"));
      auto* const f32_head = reinterpret_cast<std::byte*>(blocks_.back().data());
      std::memset(int8_head, 0xFF, int8.HeadBytes());
      for (int t = b * kKvBlockTokens; t < std::min(num_tokens_, (b + 1) * kKvBlockTokens); ++t) {
        const float* k = &keys[Size(t * head_dim_)];
        const float* v = &values[Size(t * head_dim_)];
        scalar.write_kv_int8(k, v, head_dim_, t % kKvBlockTokens, int8_head);
        scalar.write_kv_f32(k, v, head_dim_, t % kKvBlockTokens, f32_head);
      }
      int8_heads[Size(b)] = int8_head;
      f32_heads[Size(b)] = f32_head;
    }
  }

  void QuantizeQueries(int num_queries) {
    const ElementwiseKernels scalar = MakeElementwiseKernels(Isa::kScalar);
    q_codes.resize(queries.size());
    q_scales.resize(Size(num_queries));
    q_sums.resize(Size(num_queries));
    for (int q = 0; q < num_queries; ++q) {
      const size_t row = Size(q * head_dim_);
      scalar.quantize_query(&queries[row],
                            head_dim_,
                            SoftmaxScale(),
                            &q_codes[row],
                            &q_scales[Size(q)],
                            &q_sums[Size(q)]);
    }
  }

  int head_dim_;
  int num_tokens_;
  std::vector<std::vector<float>> blocks_;
};

// One element of an int8 block, by the words of kv_layout.h.
struct Int8Block {
  const std::byte* head;
  KvLayout layout;

  float KScale(int t) const { return Float(layout.KScalesOffset(), t); }
  float VScale(int t) const { return Float(layout.VScalesOffset(), t); }
  int K(int t, int d) const {
    return static_cast<int>(head[layout.KCodesOffset() + Size((d / 4 * 32 + t) * 4 + d % 4)]) - 128;
  }
  int V(int t, int d) const {
    return static_cast<int8_t>(
        head[layout.VCodesOffset() + Size((t / 4 * layout.head_dim + d) * 4 + t % 4)]);
  }

 private:
  float Float(size_t offset, int t) const {
    float value = 0.0F;
    std::memcpy(&value, &head[offset + sizeof(float) * Size(t)], sizeof(value));
    return value;
  }
};

Int8Block BlockOf(const AttentionSpanArgs& args, int token) {
  return {args.heads[token / kKvBlockTokens], {.dtype = KvDType::kInt8, .head_dim = args.head_dim}};
}

// Sixteen lanes, lane = index mod 16, then by halves.
float SumInLanes(const std::vector<float>& terms) {
  std::array<float, 16> lane = {};
  for (size_t t = 0; t < terms.size(); ++t) {
    lane[t % 16] += terms[t];
  }
  for (size_t half = 8; half >= 1; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lane[i] += lane[i + half];
    }
  }
  return lane[0];
}

// out_d of one block; the definition's inner part.
void AddBlockByDefinition(const AttentionSpanArgs& args,
                          const std::vector<float>& p,
                          int first,
                          float* out) {
  const Int8Block block = BlockOf(args, first);
  const int count = std::min(kKvBlockTokens, static_cast<int>(p.size()) - first);
  std::vector<float> pv;
  for (int t = 0; t < count; ++t) {
    pv.push_back(p[Size(first + t)] * block.VScale(t));
  }
  const float max = *std::max_element(pv.begin(), pv.end());
  if (max < 0x1p-100F) {
    return;
  }
  std::vector<int> u;
  for (const float value : pv) {
    u.push_back(static_cast<int>(std::nearbyint(value * (255.0F / max))));
  }
  for (int d = 0; d < args.head_dim; ++d) {
    int sum = 0;
    for (int t = 0; t < count; ++t) {
      sum += u[Size(t)] * block.V(t, d);
    }
    out[d] = std::fma(static_cast<float>(sum), max / 255.0F, out[d]);
  }
}

// The definition of attention.h for one query, token by token.
void AttendByDefinition(const AttentionSpanArgs& args, int query_idx) {
  const int num_visible = args.num_visible[query_idx];
  const int8_t* q = args.q_codes + query_idx * args.head_dim;
  std::vector<float> scores;
  for (int t = 0; t < num_visible; ++t) {
    const Int8Block block = BlockOf(args, t);
    int dot = 0;
    for (int d = 0; d < args.head_dim; ++d) {
      dot += q[d] * block.K(t % kKvBlockTokens, d);
    }
    scores.push_back(static_cast<float>(dot) *
                     (args.q_scales[query_idx] * block.KScale(t % kKvBlockTokens)));
  }
  const float max = *std::max_element(scores.begin(), scores.end());
  std::vector<float> p;
  for (const float score : scores) {
    p.push_back(ExpScalar(score - max));
  }
  float* out = args.out + query_idx * args.head_dim;
  std::fill(out, out + args.head_dim, 0.0F);
  for (int first = 0; first < num_visible; first += kKvBlockTokens) {
    AddBlockByDefinition(args, p, first, out);
  }
  args.max[query_idx] = max;
  args.sum[query_idx] = SumInLanes(p);
}

void AttendF32ByDefinition(const AttentionSpanArgs& args, int query_idx) {
  const int num_visible = args.num_visible[query_idx];
  const int head_dim = args.head_dim;
  const float* q = args.q_f32 + query_idx * head_dim;
  const auto row = [&](int t, int matrix) {
    return reinterpret_cast<const float*>(args.heads[t / kKvBlockTokens]) +
           (matrix * kKvBlockTokens + t % kKvBlockTokens) * head_dim;
  };
  std::vector<float> scores;
  for (int t = 0; t < num_visible; ++t) {
    std::vector<float> lanes(16, 0.0F);
    for (int d = 0; d < head_dim; ++d) {
      lanes[Size(d % 16)] = std::fma(q[d], row(t, 0)[d], lanes[Size(d % 16)]);
    }
    scores.push_back(SumInLanes(lanes) * args.softmax_scale);
  }
  const float max = *std::max_element(scores.begin(), scores.end());
  std::vector<float> p;
  for (const float score : scores) {
    p.push_back(ExpScalar(score - max));
  }
  for (int d = 0; d < head_dim; ++d) {
    float out = 0.0F;
    for (int t = 0; t < num_visible; ++t) {
      out = std::fma(p[Size(t)], row(t, 1)[d], out);
    }
    args.out[query_idx * head_dim + d] = out;
  }
  args.max[query_idx] = max;
  args.sum[query_idx] = SumInLanes(p);
}

Result ByDefinition(const Span& span, int head_dim) {
  Result result(span.NumQueries(), head_dim);
  for (int q = 0; q < span.NumQueries(); ++q) {
    AttendByDefinition(span.Args(&result), q);
  }
  return result;
}

class AttentionOnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    const KernelTable* const table = FindKernelTable(GetParam());
    if (table == nullptr) {
      GTEST_SKIP() << "this processor or build lacks " << IsaName(GetParam());
    }
    kernels_ = table->attention;
  }

  Result Int8(const Span& span, int head_dim) const {
    Result result(span.NumQueries(), head_dim);
    kernels_.attention_span_int8(span.Args(&result));
    return result;
  }

  AttentionKernels kernels_;
  const AttentionKernels scalar_ = MakeAttentionKernels(Isa::kScalar);
};

INSTANTIATE_TEST_SUITE_P(AllIsas,
                         AttentionOnIsa,
                         testing::Values(Isa::kScalar,
                                         Isa::kAvx2,
                                         Isa::kAvxVnni,
                                         Isa::kAvx512Vnni,
                                         Isa::kAmx,
                                         Isa::kNeon,
                                         Isa::kDotprod,
                                         Isa::kI8mm),
                         [](const testing::TestParamInfo<Isa>& param) {
                           return std::string(IsaName(param.param));
                         });

TEST_P(AttentionOnIsa, Int8EqualsTheDefinitionForEveryHeadDimAndVisibleCount) {
  for (const int head_dim : kHeadDims) {
    // A decode step: the slots after the last token are not written yet.
    const int step = head_dim == 64 || head_dim == 128 ? 1 : 9;
    for (int num_tokens = 1; num_tokens <= kSpanTokens; num_tokens += step) {
      const Span span(head_dim, 2, num_tokens, static_cast<uint32_t>(num_tokens));
      ASSERT_TRUE(SameBits(Int8(span, head_dim), ByDefinition(span, head_dim)))
          << "head_dim " << head_dim << ", " << num_tokens << " tokens";
    }
  }
}

TEST_P(AttentionOnIsa, Int8EqualsTheDefinitionForEveryQueryCountOfACausalTile) {
  for (const int head_dim : kHeadDims) {
    for (const int num_queries :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 64}) {
      Span span(head_dim, num_queries, kSpanTokens, static_cast<uint32_t>(1000 + num_queries));
      for (int q = 0; q < num_queries; ++q) {
        // Tiles of neighbours, and far apart within a tile.
        span.num_visible[Size(q)] =
            num_queries % 2 == 0 ? kSpanTokens - num_queries + 1 + q : 1 + q * 37 % kSpanTokens;
      }
      ASSERT_TRUE(SameBits(Int8(span, head_dim), ByDefinition(span, head_dim)))
          << "head_dim " << head_dim << ", " << num_queries << " queries";
    }
  }
}

TEST_P(AttentionOnIsa, Int8EqualsTheDefinitionOnExtremeAndZeroVectors) {
  for (const int head_dim : kHeadDims) {
    for (const Content content :
         {Content::kZeroKeys, Content::kZeroValues, Content::kExtreme, Content::kTiny}) {
      for (const int num_tokens : {1, 31, 33, 200, 256}) {
        const Span span(head_dim, 9, num_tokens, 77, content);
        const Result got = Int8(span, head_dim);
        ASSERT_TRUE(SameBits(got, ByDefinition(span, head_dim)))
            << "head_dim " << head_dim << ", content " << static_cast<int>(content);
        ASSERT_TRUE(
            std::all_of(got.out.begin(), got.out.end(), [](float x) { return std::isfinite(x); }));
      }
    }
  }
}

TEST_P(AttentionOnIsa, Int8ResultOfAQueryIsItsOwn) {
  constexpr int kHeadDim = 96;
  constexpr int kNumQueries = 21;
  Span span(kHeadDim, kNumQueries, kSpanTokens, 5);
  for (int q = 0; q < kNumQueries; ++q) {
    span.num_visible[Size(q)] = 256 - q * 12;
  }
  const Result together = Int8(span, kHeadDim);
  for (int first = 0; first < kNumQueries; ++first) {
    for (const int count : {1, 2, 3, 7}) {
      if (first + count > kNumQueries) {
        continue;
      }
      Result apart(count, kHeadDim);
      kernels_.attention_span_int8(span.Args(first, count, &apart));
      for (int q = 0; q < count; ++q) {
        ASSERT_EQ(apart.max[Size(q)], together.max[Size(first + q)]);
        ASSERT_EQ(apart.sum[Size(q)], together.sum[Size(first + q)]);
        ASSERT_EQ(std::memcmp(&apart.out[Size(q * kHeadDim)],
                              &together.out[Size((first + q) * kHeadDim)],
                              sizeof(float) * kHeadDim),
                  0)
            << "first " << first << " count " << count << " query " << q;
      }
    }
  }
}

TEST_P(AttentionOnIsa, F32EqualsTheDefinition) {
  for (const int head_dim : kHeadDims) {
    for (int num_tokens = 1; num_tokens <= kSpanTokens; num_tokens += 15) {
      Span span(head_dim, 5, num_tokens, static_cast<uint32_t>(300 + num_tokens));
      for (int q = 0; q < 5; ++q) {
        span.num_visible[Size(q)] = std::max(1, num_tokens - q * 3);
      }
      Result want(5, head_dim);
      Result got(5, head_dim);
      for (int q = 0; q < 5; ++q) {
        AttendF32ByDefinition(span.ArgsF32(&want), q);
      }
      kernels_.attention_span_f32(span.ArgsF32(&got));
      ASSERT_TRUE(SameBits(got, want)) << "head_dim " << head_dim << ", " << num_tokens;
    }
  }
}

TEST_P(AttentionOnIsa, MergeAndFinishEqualScalar) {
  std::mt19937 generator(8);
  std::normal_distribution<float> normal;
  for (const int head_dim : kHeadDims) {
    std::vector<float> span_out(Size(head_dim));
    std::vector<float> state[2] = {std::vector<float>(Size(head_dim), 0.0F),
                                   std::vector<float>(Size(head_dim), 0.0F)};
    float max[2] = {-kInfinity, -kInfinity};
    float sum[2] = {0.0F, 0.0F};
    for (const float span_max : {1.5F, -3.0F, 1.5F, 40.0F, 200.0F, -100.0F}) {
      std::generate(span_out.begin(), span_out.end(), [&] { return normal(generator); });
      const float span_sum = 1.0F + std::abs(normal(generator));
      for (size_t i = 0; i < 2; ++i) {
        (i == 0 ? scalar_ : kernels_)
            .merge_span(
                span_out.data(), span_max, span_sum, head_dim, state[i].data(), &max[i], &sum[i]);
      }
      ASSERT_TRUE(SameBits(state[1], state[0]));
      ASSERT_EQ(max[1], max[0]);
      ASSERT_EQ(sum[1], sum[0]);
    }
    std::vector<float> out[2] = {std::vector<float>(Size(head_dim)),
                                 std::vector<float>(Size(head_dim))};
    scalar_.finish(state[0].data(), sum[0], head_dim, out[0].data());
    kernels_.finish(state[1].data(), sum[1], head_dim, out[1].data());
    ASSERT_TRUE(SameBits(out[1], out[0]));
    EXPECT_EQ(out[0][0], state[0][0] / sum[0]);
  }
}

TEST(MergeSpan, TakesTheFirstSpanUnchangedAndWeighsTheSecond) {
  const AttentionKernels scalar = MakeAttentionKernels(Isa::kScalar);
  const std::vector<float> first(16, 3.0F);
  const std::vector<float> second(16, 5.0F);
  std::vector<float> state(16, 0.0F);
  float max = -kInfinity;
  float sum = 0.0F;
  scalar.merge_span(first.data(), 2.0F, 7.0F, 16, state.data(), &max, &sum);
  EXPECT_EQ(state, first);
  EXPECT_EQ(max, 2.0F);
  EXPECT_EQ(sum, 7.0F);
  scalar.merge_span(second.data(), 1.0F, 11.0F, 16, state.data(), &max, &sum);
  const float weight = ExpScalar(-1.0F);
  EXPECT_EQ(max, 2.0F);
  EXPECT_EQ(sum, std::fma(11.0F, weight, 7.0F));
  EXPECT_EQ(state[15], std::fma(5.0F, weight, 3.0F));
}

// Attention over several spans by the scalar kernels: spans in order, merged left to right.
class ManySpans {
 public:
  ManySpans(int head_dim, int num_tokens) : head_dim_(head_dim) {
    for (int first = 0; first < num_tokens; first += kSpanTokens) {
      spans_.emplace_back(head_dim,
                          1,
                          std::min(kSpanTokens, num_tokens - first),
                          static_cast<uint32_t>(first + head_dim));
    }
    // One query for all of them.
    for (Span& span : spans_) {
      span.queries = spans_[0].queries;
      span.q_codes = spans_[0].q_codes;
      span.q_scales = spans_[0].q_scales;
      span.q_sums = spans_[0].q_sums;
    }
  }

  std::vector<float> Int8(const AttentionKernels& kernels) const {
    return Merge(kernels, /*is_int8=*/true);
  }
  std::vector<float> F32(const AttentionKernels& kernels) const {
    return Merge(kernels, /*is_int8=*/false);
  }

  // Softmax attention in double precision over the floats that were stored.
  std::vector<double> InDouble() const {
    std::vector<double> out(Size(head_dim_), 0.0);
    double sum = 0.0;
    for (const Span& span : spans_) {
      for (int t = 0; t < span.num_visible[0]; ++t) {
        const float* k = &span.keys[Size(t * head_dim_)];
        double score = 0.0;
        for (int d = 0; d < head_dim_; ++d) {
          score += static_cast<double>(span.queries[Size(d)]) * k[d];
        }
        const double p = std::exp(score / std::sqrt(static_cast<double>(head_dim_)));
        sum += p;
        for (int d = 0; d < head_dim_; ++d) {
          out[Size(d)] += p * span.values[Size(t * head_dim_ + d)];
        }
      }
    }
    std::transform(out.begin(), out.end(), out.begin(), [&](double x) { return x / sum; });
    return out;
  }

  // The same over the stored codes; *bound gets, for each d, what rounding p to 8 bits may move:
  // half a step of each token's p, times that token's |code|.
  std::vector<double> InDoubleOverCodes(std::vector<double>* bound) const {
    std::vector<double> out(Size(head_dim_), 0.0);
    bound->assign(Size(head_dim_), 0.0);
    double sum = 0.0;
    for (const Span& span : spans_) {
      Result unused(1, head_dim_);
      const AttentionSpanArgs args = span.Args(&unused);
      for (int first = 0; first < span.num_visible[0]; first += kKvBlockTokens) {
        AddBlockInDouble(args, first, &out, bound, &sum);
      }
    }
    for (int d = 0; d < head_dim_; ++d) {
      out[Size(d)] /= sum;
      (*bound)[Size(d)] /= sum;
    }
    return out;
  }

 private:
  void AddBlockInDouble(const AttentionSpanArgs& args,
                        int first,
                        std::vector<double>* out,
                        std::vector<double>* bound,
                        double* sum) const {
    const Int8Block block = BlockOf(args, first);
    const int count = std::min(kKvBlockTokens, args.num_visible[0] - first);
    std::vector<double> pv(Size(count));
    for (int t = 0; t < count; ++t) {
      int dot = 0;
      for (int d = 0; d < head_dim_; ++d) {
        dot += args.q_codes[d] * block.K(t, d);
      }
      const double p = std::exp(static_cast<double>(dot) * args.q_scales[0] * block.KScale(t));
      *sum += p;
      pv[Size(t)] = p * block.VScale(t);
    }
    const double half_step = *std::max_element(pv.begin(), pv.end()) / 255.0 / 2.0;
    for (int t = 0; t < count; ++t) {
      for (int d = 0; d < head_dim_; ++d) {
        (*out)[Size(d)] += pv[Size(t)] * block.V(t, d);
        (*bound)[Size(d)] += half_step * std::abs(block.V(t, d));
      }
    }
  }

  std::vector<float> Merge(const AttentionKernels& kernels, bool is_int8) const {
    std::vector<float> state(Size(head_dim_), 0.0F);
    float max = -kInfinity;
    float sum = 0.0F;
    for (const Span& span : spans_) {
      Result result(1, head_dim_);
      if (is_int8) {
        kernels.attention_span_int8(span.Args(&result));
      } else {
        kernels.attention_span_f32(span.ArgsF32(&result));
      }
      kernels.merge_span(
          result.out.data(), result.max[0], result.sum[0], head_dim_, state.data(), &max, &sum);
    }
    kernels.finish(state.data(), sum, head_dim_, state.data());
    return state;
  }

  int head_dim_;
  std::vector<Span> spans_;
};

double RelativeError(const std::vector<float>& got, const std::vector<double>& want) {
  double difference = 0.0;
  double norm = 0.0;
  for (size_t d = 0; d < want.size(); ++d) {
    difference += (got[d] - want[d]) * (got[d] - want[d]);
    norm += want[d] * want[d];
  }
  return std::sqrt(difference / norm);
}

TEST_P(AttentionOnIsa, F32OverManySpansMatchesDouble) {
  for (const int head_dim : {16, 64, 128}) {
    for (const int num_tokens : {1, 40, 256, 257, 700, 1500}) {
      const ManySpans spans(head_dim, num_tokens);
      EXPECT_LT(RelativeError(spans.F32(kernels_), spans.InDouble()), 2e-6)
          << "head_dim " << head_dim << ", " << num_tokens << " tokens";
    }
  }
}

TEST_P(AttentionOnIsa, Int8OverManySpansMatchesDoubleWithinItsRounding) {
  for (const int head_dim : {16, 64, 80, 128, 256}) {
    for (const int num_tokens : {1, 33, 256, 257, 700, 1500}) {
      const ManySpans spans(head_dim, num_tokens);
      const std::vector<float> got = spans.Int8(kernels_);
      // Against the stored codes the only error is p's rounding (and fp32's, 1e-5 of the bound's
      // scale): a strict bound for each element.
      std::vector<double> bound;
      const std::vector<double> want = spans.InDoubleOverCodes(&bound);
      for (size_t d = 0; d < want.size(); ++d) {
        ASSERT_LE(std::abs(got[d] - want[d]), bound[d] * 1.001 + 1e-5)
            << "head_dim " << head_dim << ", " << num_tokens << " tokens, d " << d;
      }
      // Against the floats before quantization: 8-bit q, k, v and p of normal values.
      EXPECT_LT(RelativeError(got, spans.InDouble()), 0.02)
          << "head_dim " << head_dim << ", " << num_tokens << " tokens";
    }
  }
}

}  // namespace
}  // namespace whinchat::kernels
