// SPDX-License-Identifier: Apache-2.0
// Figures for Prometheus under vLLM's names, so dashboards made for vLLM work. Counters of tokens
// and queues are the engine's own; what a client sees (first token, gaps, whole answers) is
// measured here.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/text_generator.h"

namespace whinchat {

class Histogram {
 public:
  // `upper_bounds` ascend; one more bucket takes the rest.
  explicit Histogram(std::span<const double> upper_bounds);

  void Observe(double value, uint64_t count = 1);
  // "# HELP", "# TYPE", _bucket, _sum and _count lines.
  void Append(std::string_view name,
              std::string_view description,
              std::string_view labels,
              std::string& text) const;

 private:
  std::vector<double> upper_bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

// Of one request, when it is over.
struct RequestFigures {
  FinishReason finish_reason = FinishReason::kStop;  // of its first choice
  int num_prompt_tokens = 0;
  int num_generation_tokens = 0;
  double e2e_seconds = 0;
  RequestTimings timings;
};

// Any thread.
class Metrics {
 public:
  Metrics();

  void ObserveFirstToken(double seconds);
  void ObserveTokenGap(double seconds_per_token, uint64_t num_tokens);
  void ObserveRequest(const RequestFigures& figures);
  void CountResponse(int http_status);

  // Text exposition format, version 0.0.4. `model_name` labels every line.
  std::string Expose(const EngineStats& engine, std::string_view model_name) const;

 private:
  mutable std::mutex mutex_;
  Histogram time_to_first_token_;
  Histogram inter_token_latency_;
  Histogram e2e_latency_;
  Histogram queue_time_;
  Histogram prefill_time_;
  Histogram decode_time_;
  Histogram prompt_tokens_;
  Histogram generation_tokens_;
  std::map<std::string, uint64_t> num_finished_;  // by reason
  std::map<int, uint64_t> num_responses_;         // by status
};

}  // namespace whinchat
