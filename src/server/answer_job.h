// SPDX-License-Identifier: Apache-2.0
// Carries the pieces of one or more generations to a client until the last, or until the client
// goes away. Driven by wake-ups: it never waits and has no thread. A client that reads slowly stops
// the taking of pieces, not the engine.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/answer.h"
#include "pipeline/text_generator.h"
#include "server/exchange.h"
#include "server/metrics.h"
#include "server/task_queue.h"
#include "server/worker_pool.h"

namespace whinchat {

// A request that has been accepted: its generations run already.
struct PreparedAnswer {
  std::unique_ptr<Answer> answer;
  std::vector<std::unique_ptr<Generation>> generations;  // one a choice
  int choices_per_prompt = 1;  // usage counts a prompt once, however many choices it has
  bool stream = false;
};

class AnswerJob : public std::enable_shared_from_this<AnswerJob> {
 public:
  // What the job works with; all outlive it.
  struct Surroundings {
    std::shared_ptr<TaskQueue> loop;
    WorkerPool* workers;
    Metrics* metrics;
    std::function<void(std::string_view line)> log;
  };

  // On the event loop's thread, as all that follows. The job lives in the exchange's observer.
  static void Start(std::shared_ptr<Exchange> exchange,
                    PreparedAnswer prepared,
                    Surroundings surroundings);
  AnswerJob(std::shared_ptr<Exchange> exchange, PreparedAnswer prepared, Surroundings surroundings);
  ~AnswerJob();

 private:
  using Clock = std::chrono::steady_clock;

  struct ChoiceProgress {
    bool is_finished = false;
    FinishReason finish_reason = FinishReason::kNone;
    int num_tokens = 0;
    Clock::time_point last_token_at;
  };

  void Begin();
  void Pump();
  void TakePieces(size_t choice_idx, std::string& events);
  void MeasureTokens(size_t choice_idx);
  void Finish();
  void RespondWithBody();
  void Fail(const ErrorReply& reply);
  void Abandon();
  void ObserveRequest(FinishReason finish_reason);
  // Cancels what still runs and lets go of everything.
  void Release();
  Usage TotalUsage() const;
  bool IsAllFinished() const;

  std::shared_ptr<Exchange> exchange_;
  PreparedAnswer prepared_;
  Surroundings surroundings_;
  std::vector<ChoiceProgress> progress_;
  bool has_first_token_ = false;
  bool is_over_ = false;
};

}  // namespace whinchat
