// SPDX-License-Identifier: Apache-2.0
// `mutex_` guards the outputs; `wake_mutex_` is held while the wake function runs, so that after
// SetWake returns the former function is not running and never will.
#include "engine/token_stream.h"

#include <utility>

#include "base/check.h"

namespace whinchat {

std::optional<TokenOutput> TokenStream::Pop() {
  std::unique_lock lock(mutex_);
  has_output_.wait(lock, [this] { return !outputs_.empty() || is_finished_; });
  return TakeFront();
}

std::optional<TokenOutput> TokenStream::TryPop() {
  const std::lock_guard lock(mutex_);
  return TakeFront();
}

std::optional<TokenOutput> TokenStream::TakeFront() {
  if (outputs_.empty()) {
    return std::nullopt;
  }
  TokenOutput output = std::move(outputs_.front());
  outputs_.pop_front();
  return output;
}

void TokenStream::SetWake(WakeFn wake) {
  const std::lock_guard wake_lock(wake_mutex_);
  wake_ = std::move(wake);
  bool has_outputs = false;
  {
    const std::lock_guard lock(mutex_);
    has_outputs = !outputs_.empty();
  }
  if (has_outputs && wake_) {
    wake_();
  }
}

void TokenStream::Push(TokenOutput output) {
  {
    const std::lock_guard lock(mutex_);
    WHINCHAT_CHECK(!is_finished_);
    is_finished_ = output.finish_reason != FinishReason::kNone;
    outputs_.push_back(std::move(output));
  }
  has_output_.notify_all();
  const std::lock_guard wake_lock(wake_mutex_);
  if (wake_) {
    wake_();
  }
}

}  // namespace whinchat
