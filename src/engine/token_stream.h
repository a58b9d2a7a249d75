// SPDX-License-Identifier: Apache-2.0
// The one object that the engine thread and a request's thread share. The engine pushes and never
// waits; the reader pops or is called back. Cancel may be called from any thread, at any time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace whinchat {

class TokenStream {
 public:
  // Called on the engine thread after each Push, to wake an event loop; must not block, throw or
  // call SetWake.
  using WakeFn = std::function<void()>;

  // Blocks until an output is there. After the one with a finish_reason: nothing.
  std::optional<TokenOutput> Pop();
  // Never blocks.
  std::optional<TokenOutput> TryPop();
  // Set before Submit, or any time; called at once if outputs are waiting. When it returns, the
  // former function is not running any more.
  void SetWake(WakeFn wake);

  // The engine drops the request at its next step, in prefill too.
  void Cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

  // Engine thread only.
  void Push(TokenOutput output);

 private:
  std::optional<TokenOutput> TakeFront();

  std::mutex mutex_;
  std::condition_variable has_output_;
  std::deque<TokenOutput> outputs_;
  std::mutex wake_mutex_;  // taken before mutex_
  WakeFn wake_;
  bool is_finished_ = false;
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace whinchat
