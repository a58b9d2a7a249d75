// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace whinchat {
namespace {

// vLLM's buckets: a query written for vLLM finds the bounds it names.
constexpr double kFirstTokenBounds[] = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                        0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                        20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
constexpr double kTokenGapBounds[] = {0.01,
                                      0.025,
                                      0.05,
                                      0.075,
                                      0.1,
                                      0.15,
                                      0.2,
                                      0.3,
                                      0.4,
                                      0.5,
                                      0.75,
                                      1.0,
                                      2.5,
                                      5.0,
                                      7.5,
                                      10.0,
                                      20.0,
                                      40.0,
                                      80.0};
constexpr double kRequestBounds[] = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,   2.5,
                                     5.0,  10.0,  15.0,  20.0,  30.0,  40.0,  50.0,
                                     60.0, 120.0, 240.0, 480.0, 960.0, 1920.0};
constexpr double kTokenCountBounds[] = {
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000};

std::string EscapeLabel(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      escaped += '\\';
    }
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

struct Figure {
  std::string_view name;
  std::string_view type;
  std::string_view description;
  double value;
};

void AppendHead(std::string_view name,
                std::string_view type,
                std::string_view description,
                std::string& text) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, description, type);
}

void AppendEngine(const EngineStats& engine, std::string_view labels, std::string& text) {
  const double kv_usage =
      engine.num_kv_blocks > 0
          ? static_cast<double>(engine.num_kv_blocks_used) / engine.num_kv_blocks
          : 0.0;
  const Figure figures[] = {
      {"vllm:num_requests_running",
       "gauge",
       "Requests in the running batch.",
       static_cast<double>(engine.num_requests_running)},
      {"vllm:num_requests_waiting",
       "gauge",
       "Requests waiting to be scheduled.",
       static_cast<double>(engine.num_requests_waiting)},
      {"vllm:kv_cache_usage_perc", "gauge", "Part of the KV blocks in use; 1 is all.", kv_usage},
      {"vllm:num_preemptions_total",
       "counter",
       "Sequences that had to give their blocks back.",
       static_cast<double>(engine.num_preemptions)},
      {"vllm:prompt_tokens_total",
       "counter",
       "Prompt tokens taken in.",
       static_cast<double>(engine.num_prompt_tokens)},
      {"vllm:generation_tokens_total",
       "counter",
       "Tokens generated.",
       static_cast<double>(engine.num_generation_tokens)},
      {"vllm:prefix_cache_queries_total",
       "counter",
       "Prompt tokens looked up in the prefix cache.",
       static_cast<double>(engine.num_prompt_tokens)},
      {"vllm:prefix_cache_hits_total",
       "counter",
       "Prompt tokens found in the prefix cache.",
       static_cast<double>(engine.num_cached_tokens)},
      {"whinchat:engine_steps_total",
       "counter",
       "Steps of the engine.",
       static_cast<double>(engine.num_steps)},
  };
  for (const Figure& figure : figures) {
    AppendHead(figure.name, figure.type, figure.description, text);
    text += fmt::format("{}{{{}}} {}\n", figure.name, labels, figure.value);
  }
}

std::string_view ReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kError:
      return "error";
    case FinishReason::kNone:
    case FinishReason::kCancelled:
      return "abort";
  }
  return "abort";
}

}  // namespace

Histogram::Histogram(std::span<const double> upper_bounds)
    : upper_bounds_(upper_bounds.begin(), upper_bounds.end()), counts_(upper_bounds.size() + 1) {}

void Histogram::Observe(double value, uint64_t count) {
  const auto bound = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
  counts_[static_cast<size_t>(bound - upper_bounds_.begin())] += count;
  sum_ += value * static_cast<double>(count);
}

void Histogram::Append(std::string_view name,
                       std::string_view description,
                       std::string_view labels,
                       std::string& text) const {
  AppendHead(name, "histogram", description, text);
  uint64_t cumulative = 0;
  for (size_t i = 0; i < upper_bounds_.size(); ++i) {
    cumulative += counts_[i];
    text +=
        fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, upper_bounds_[i], cumulative);
  }
  cumulative += counts_.back();
  text +=
      fmt::format("{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n{0}_count{{{1}}} {2}\n",
                  name,
                  labels,
                  cumulative,
                  sum_);
}

Metrics::Metrics()
    : time_to_first_token_(kFirstTokenBounds),
      inter_token_latency_(kTokenGapBounds),
      e2e_latency_(kRequestBounds),
      queue_time_(kRequestBounds),
      prefill_time_(kRequestBounds),
      decode_time_(kRequestBounds),
      prompt_tokens_(kTokenCountBounds),
      generation_tokens_(kTokenCountBounds) {
  // There from the first scrape on, so that rates start at zero.
  for (const FinishReason reason : {FinishReason::kStop,
                                    FinishReason::kLength,
                                    FinishReason::kCancelled,
                                    FinishReason::kError}) {
    num_finished_[std::string(ReasonName(reason))] = 0;
  }
}

void Metrics::ObserveFirstToken(double seconds) {
  const std::lock_guard lock(mutex_);
  time_to_first_token_.Observe(seconds);
}

void Metrics::ObserveTokenGap(double seconds_per_token, uint64_t num_tokens) {
  const std::lock_guard lock(mutex_);
  inter_token_latency_.Observe(seconds_per_token, num_tokens);
}

void Metrics::ObserveRequest(const RequestFigures& figures) {
  constexpr double kSecondsPerMs = 1e-3;
  const std::lock_guard lock(mutex_);
  ++num_finished_[std::string(ReasonName(figures.finish_reason))];
  e2e_latency_.Observe(figures.e2e_seconds);
  prompt_tokens_.Observe(figures.num_prompt_tokens);
  generation_tokens_.Observe(figures.num_generation_tokens);
  const RequestTimings& timings = figures.timings;
  queue_time_.Observe(timings.queue_ms * kSecondsPerMs);
  prefill_time_.Observe(timings.prefill_ms * kSecondsPerMs);
  decode_time_.Observe(std::max(0.0, timings.total_ms - timings.first_token_ms) * kSecondsPerMs);
}

void Metrics::CountResponse(int http_status) {
  const std::lock_guard lock(mutex_);
  ++num_responses_[http_status];
}

std::string Metrics::Expose(const EngineStats& engine, std::string_view model_name) const {
  const std::string labels = fmt::format("model_name=\"{}\",engine=\"0\"", EscapeLabel(model_name));
  std::string text;
  AppendEngine(engine, labels, text);
  const std::lock_guard lock(mutex_);
  AppendHead("vllm:request_success_total", "counter", "Requests that ended, by reason.", text);
  for (const auto& [reason, count] : num_finished_) {
    text += fmt::format(
        "vllm:request_success_total{{{},finished_reason=\"{}\"}} {}\n", labels, reason, count);
  }
  AppendHead("whinchat:http_responses_total", "counter", "Answers, by HTTP status.", text);
  for (const auto& [status, count] : num_responses_) {
    text +=
        fmt::format("whinchat:http_responses_total{{{},code=\"{}\"}} {}\n", labels, status, count);
  }
  time_to_first_token_.Append(
      "vllm:time_to_first_token_seconds", "From the request to its first token.", labels, text);
  inter_token_latency_.Append(
      "vllm:inter_token_latency_seconds", "Between two tokens of one answer.", labels, text);
  e2e_latency_.Append(
      "vllm:e2e_request_latency_seconds", "From the request to its end.", labels, text);
  queue_time_.Append("vllm:request_queue_time_seconds", "Waiting to be scheduled.", labels, text);
  prefill_time_.Append("vllm:request_prefill_time_seconds", "Reading the prompt.", labels, text);
  decode_time_.Append(
      "vllm:request_decode_time_seconds", "From the first token to the last.", labels, text);
  prompt_tokens_.Append("vllm:request_prompt_tokens", "Prompt tokens of a request.", labels, text);
  generation_tokens_.Append(
      "vllm:request_generation_tokens", "Generated tokens of a request.", labels, text);
  return text;
}

}  // namespace whinchat
