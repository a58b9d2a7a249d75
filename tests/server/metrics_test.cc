// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <sstream>

namespace whinchat {
namespace {

using ::testing::HasSubstr;

TEST(Histogram, BucketsAreCumulativeAndBoundsInclusive) {
  const double bounds[] = {1.0, 2.0};
  Histogram histogram(bounds);
  histogram.Observe(1.0);
  histogram.Observe(1.5, 3);
  histogram.Observe(9.0);
  std::string text;
  histogram.Append("h", "A thing.", "a=\"b\"", text);
  EXPECT_EQ(text,
            "# HELP h A thing.\n# TYPE h histogram\n"
            "h_bucket{a=\"b\",le=\"1\"} 1\nh_bucket{a=\"b\",le=\"2\"} 4\n"
            "h_bucket{a=\"b\",le=\"+Inf\"} 5\nh_sum{a=\"b\"} 14.5\nh_count{a=\"b\"} 5\n");
}

TEST(Metrics, CarryVllmsNames) {
  Metrics metrics;
  EngineStats engine;
  engine.num_requests_running = 2;
  engine.num_requests_waiting = 1;
  engine.num_kv_blocks = 10;
  engine.num_kv_blocks_used = 5;
  engine.num_prompt_tokens = 100;
  engine.num_cached_tokens = 60;
  engine.num_generation_tokens = 7;
  metrics.ObserveFirstToken(0.2);
  metrics.ObserveTokenGap(0.02, 4);
  metrics.ObserveRequest({.finish_reason = FinishReason::kLength,
                          .num_prompt_tokens = 12,
                          .num_generation_tokens = 7,
                          .e2e_seconds = 0.4,
                          .timings = {.queue_ms = 10, .prefill_ms = 20}});
  metrics.CountResponse(200);
  metrics.CountResponse(200);
  const std::string text = metrics.Expose(engine, "m\"x");
  const std::string labels = R"({model_name="m\"x",engine="0")";
  for (const std::string& line : {
           "vllm:num_requests_running" + labels + "} 2\n",
           "vllm:num_requests_waiting" + labels + "} 1\n",
           "vllm:kv_cache_usage_perc" + labels + "} 0.5\n",
           "vllm:prompt_tokens_total" + labels + "} 100\n",
           "vllm:generation_tokens_total" + labels + "} 7\n",
           "vllm:prefix_cache_queries_total" + labels + "} 100\n",
           "vllm:prefix_cache_hits_total" + labels + "} 60\n",
           "vllm:request_success_total" + labels + ",finished_reason=\"length\"} 1\n",
           "vllm:request_success_total" + labels + ",finished_reason=\"stop\"} 0\n",
           "vllm:time_to_first_token_seconds_count" + labels + "} 1\n",
           "vllm:inter_token_latency_seconds_count" + labels + "} 4\n",
           "vllm:e2e_request_latency_seconds_sum" + labels + "} 0.4\n",
           "vllm:request_queue_time_seconds_sum" + labels + "} 0.01\n",
           "vllm:request_prefill_time_seconds_sum" + labels + "} 0.02\n",
           "vllm:request_prompt_tokens_sum" + labels + "} 12\n",
           "vllm:request_generation_tokens_sum" + labels + "} 7\n",
           "whinchat:http_responses_total" + labels + ",code=\"200\"} 2\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Metrics, EveryLineIsTextExposition) {
  Metrics metrics;
  metrics.ObserveFirstToken(1e-7);
  std::istringstream lines(metrics.Expose({}, "Qwen3-0.6B"));
  const std::regex sample(R"([a-zA-Z_:][a-zA-Z0-9_:]*\{[^}]*\} [0-9.e+-]+)");
  int num_samples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# HELP ", 0) == 0 || line.rfind("# TYPE ", 0) == 0) {
      continue;
    }
    EXPECT_TRUE(std::regex_match(line, sample)) << line;
    ++num_samples;
  }
  EXPECT_GT(num_samples, 100);
}

TEST(Metrics, NoBlocksIsNoUsage) {
  EXPECT_THAT(Metrics().Expose({}, "m"),
              HasSubstr("vllm:kv_cache_usage_perc{model_name=\"m\","
                        "engine=\"0\"} 0\n"));
}

}  // namespace
}  // namespace whinchat
