// SPDX-License-Identifier: Apache-2.0
#include "server/answer_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "api/sse.h"

namespace whinchat {
namespace {

// Beyond it no piece is taken until the client has read: what waits then is token ids, which are
// small and bounded by max_tokens.
constexpr size_t kMaxUnsentBytes = 256 << 10;

// What the engine's thread calls. It outlives the job, and many wake-ups make one visit.
class WakeTarget : public std::enable_shared_from_this<WakeTarget> {
 public:
  WakeTarget(std::shared_ptr<TaskQueue> loop, std::function<void()> visit)
      : loop_(std::move(loop)), visit_(std::move(visit)) {}

  void Wake() {
    if (!is_posted_.exchange(true)) {
      loop_->Post([self = shared_from_this()] {
        self->is_posted_.store(false);
        self->visit_();
      });
    }
  }

 private:
  std::shared_ptr<TaskQueue> loop_;
  std::function<void()> visit_;
  std::atomic<bool> is_posted_{false};
};

double SecondsBetween(std::chrono::steady_clock::time_point begin,
                      std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void AnswerJob::Start(std::shared_ptr<Exchange> exchange,
                      PreparedAnswer prepared,
                      Surroundings surroundings) {
  std::make_shared<AnswerJob>(std::move(exchange), std::move(prepared), std::move(surroundings))
      ->Begin();
}

AnswerJob::AnswerJob(std::shared_ptr<Exchange> exchange,
                     PreparedAnswer prepared,
                     Surroundings surroundings)
    : exchange_(std::move(exchange)),
      prepared_(std::move(prepared)),
      surroundings_(std::move(surroundings)),
      progress_(prepared_.generations.size()) {}

AnswerJob::~AnswerJob() = default;

void AnswerJob::Begin() {
  exchange_->SetObserver([self = shared_from_this()] { self->Pump(); });
  if (prepared_.stream && !exchange_->is_gone()) {
    exchange_->BeginStream(EventStreamResponse());
    exchange_->Write(prepared_.answer->StreamBegin());
  }
  // The target knows the job weakly: the generation, which the job owns, keeps the target.
  auto target = std::make_shared<WakeTarget>(
      surroundings_.loop, [weak = std::weak_ptr<AnswerJob>(shared_from_this())] {
        if (const std::shared_ptr<AnswerJob> job = weak.lock()) {
          job->Pump();
        }
      });
  for (const std::unique_ptr<Generation>& generation : prepared_.generations) {
    generation->SetWake([target] { target->Wake(); });
  }
  Pump();
}

void AnswerJob::Pump() {
  if (is_over_) {
    return;
  }
  if (exchange_->is_gone()) {
    Abandon();
    return;
  }
  try {
    std::string events;
    for (size_t i = 0; i < progress_.size(); ++i) {
      TakePieces(i, events);
    }
    if (!events.empty()) {
      exchange_->Write(std::move(events));
    }
    if (IsAllFinished()) {
      Finish();
    }
  } catch (const Error& error) {
    Fail(ToErrorReply(error));
  } catch (const std::exception& error) {
    Fail(MakeErrorReply(500, fmt::format("The answer broke off: {}", error.what()), "internal"));
  }
}

void AnswerJob::TakePieces(size_t choice_idx, std::string& events) {
  Generation& generation = *prepared_.generations[choice_idx];
  ChoiceProgress& progress = progress_[choice_idx];
  const auto index = static_cast<int>(choice_idx);
  while (!progress.is_finished && exchange_->num_unsent_bytes() + events.size() < kMaxUnsentBytes) {
    const std::optional<GenerationDelta> delta = generation.TryNext();
    if (!delta.has_value()) {
      return;
    }
    MeasureTokens(choice_idx);
    if (prepared_.stream) {
      events += prepared_.answer->StreamDelta(index, *delta, generation.usage());
    } else {
      prepared_.answer->Collect(index, *delta);
    }
    progress.finish_reason = delta->finish_reason;
    progress.is_finished = delta->finish_reason != FinishReason::kNone;
  }
}

void AnswerJob::MeasureTokens(size_t choice_idx) {
  ChoiceProgress& progress = progress_[choice_idx];
  const int num_tokens = prepared_.generations[choice_idx]->usage().num_completion_tokens;
  const int num_new = num_tokens - progress.num_tokens;
  if (num_new <= 0) {
    return;
  }
  const Clock::time_point now = Clock::now();
  if (!has_first_token_) {
    has_first_token_ = true;
    surroundings_.metrics->ObserveFirstToken(SecondsBetween(exchange_->received_at(), now));
  }
  if (progress.num_tokens > 0) {
    surroundings_.metrics->ObserveTokenGap(SecondsBetween(progress.last_token_at, now) / num_new,
                                           static_cast<uint64_t>(num_new));
  }
  progress.num_tokens = num_tokens;
  progress.last_token_at = now;
}

void AnswerJob::Finish() {
  ObserveRequest(progress_.front().finish_reason);
  if (prepared_.stream) {
    exchange_->Write(prepared_.answer->StreamEnd(TotalUsage()));
    exchange_->EndStream();
  } else {
    RespondWithBody();
  }
  Release();
}

// A body with the log probabilities of many tokens takes a while to write: not on this thread.
void AnswerJob::RespondWithBody() {
  std::shared_ptr<Answer> answer = std::move(prepared_.answer);
  surroundings_.workers->Post(
      [answer, usage = TotalUsage(), exchange = exchange_, loop = surroundings_.loop] {
        loop->Post([exchange, body = answer->Body(usage)]() mutable {
          exchange->Respond(JsonResponse(std::move(body)));
        });
      });
}

void AnswerJob::Fail(const ErrorReply& reply) {
  if (surroundings_.log) {
    surroundings_.log(fmt::format("A running answer failed: {}", reply.message));
  }
  ObserveRequest(FinishReason::kError);
  if (prepared_.stream) {
    // The status is out already; the error is the last event.
    exchange_->Write(SseEvent(ErrorBody(reply)) + SseDone());
    exchange_->EndStream();
  } else {
    exchange_->Respond(ErrorResponse(reply));
  }
  Release();
}

void AnswerJob::Abandon() {
  ObserveRequest(FinishReason::kCancelled);
  Release();
}

void AnswerJob::ObserveRequest(FinishReason finish_reason) {
  const Usage usage = TotalUsage();
  RequestFigures figures;
  figures.finish_reason = finish_reason;
  figures.num_prompt_tokens = usage.num_prompt_tokens;
  figures.num_generation_tokens = usage.num_completion_tokens;
  figures.e2e_seconds = SecondsBetween(exchange_->received_at(), Clock::now());
  figures.timings = prepared_.generations.front()->timings();
  surroundings_.metrics->ObserveRequest(figures);
}

void AnswerJob::Release() {
  is_over_ = true;
  for (const std::unique_ptr<Generation>& generation : prepared_.generations) {
    generation->SetWake({});
    generation->Cancel();
  }
  prepared_.generations.clear();
  exchange_->SetObserver({});
}

Usage AnswerJob::TotalUsage() const {
  Usage total;
  for (size_t i = 0; i < prepared_.generations.size(); ++i) {
    const Usage usage = prepared_.generations[i]->usage();
    if (i % static_cast<size_t>(prepared_.choices_per_prompt) == 0) {
      total.num_prompt_tokens += usage.num_prompt_tokens;
      total.num_cached_tokens += usage.num_cached_tokens;
    }
    total.num_completion_tokens += usage.num_completion_tokens;
    total.num_reasoning_tokens += usage.num_reasoning_tokens;
  }
  return total;
}

bool AnswerJob::IsAllFinished() const {
  return std::all_of(progress_.begin(), progress_.end(), [](const ChoiceProgress& progress) {
    return progress.is_finished;
  });
}

}  // namespace whinchat
