// SPDX-License-Identifier: Apache-2.0
// From a request to the route that answers it: access, method and path, the one place that turns
// errors into replies, and what is shared between routes. No sockets.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/access_policy.h"
#include "server/answer_job.h"
#include "server/exchange.h"
#include "server/metrics.h"
#include "server/model_routes.h"
#include "server/served_model.h"
#include "server/task_queue.h"
#include "server/worker_pool.h"

namespace whinchat {

class Service {
 public:
  // `loop` feeds the thread that calls Handle.
  Service(const ServerOptions& options, std::shared_ptr<TaskQueue> loop);

  // Any thread, once.
  void SetGenerator(TextGenerator* generator);
  // From now on requests are refused; those that run go on.
  void BeginDrain();
  // Waits for what the worker threads are at.
  void StopWorkers() { workers_.Stop(); }

  // The event loop's thread; never blocks. The exchange is answered now or later.
  void Handle(const std::shared_ptr<Exchange>& exchange);

  // Headers of every answer to this request.
  std::vector<HttpHeader> CommonHeaders(const HttpRequest& request) const {
    return access_.CorsHeaders(request);
  }
  void CountResponse(int http_status) { metrics_.CountResponse(http_status); }

 private:
  using Handler = std::function<void(const std::shared_ptr<Exchange>&)>;
  using Responder = std::function<HttpResponse(const HttpRequest&)>;
  using Preparer = PreparedAnswer (*)(const ServedModel&,
                                      const HttpRequest&,
                                      const std::function<void(const std::vector<std::string>&)>&);

  struct Route {
    std::string_view method;
    std::string_view path;  // with a '/' at its end: all below it
    Handler handler;
  };

  void AddRoutes();
  // The three ways to answer: at once, by a worker thread, by generating.
  Handler Now(Responder responder);
  Handler OnWorker(Responder responder);
  Handler Generate(Preparer prepare, std::string_view prompt_field);

  void RouteByPath(const std::shared_ptr<Exchange>& exchange);
  std::string AllowedMethods(std::string_view path) const;
  // Runs `action`; the reply to send if it threw.
  std::optional<ErrorReply> Guard(const std::function<void()>& action,
                                  std::string_view prompt_field) const;
  // Throws ApiError 503 while there is none.
  std::shared_ptr<const ServedModel> model() const;
  HttpResponse ExposeMetrics() const;
  void LogUnknownFields(const std::vector<std::string>& names);
  void Log(std::string_view line) const;

  const ServerOptions options_;
  std::shared_ptr<TaskQueue> loop_;
  AccessPolicy access_;
  Metrics metrics_;
  std::vector<Route> routes_;

  mutable std::mutex mutex_;
  ServerPhase phase_ = ServerPhase::kLoading;
  std::shared_ptr<const ServedModel> model_;
  std::set<std::string> logged_fields_;

  WorkerPool workers_;  // last: its threads use all of the above
};

}  // namespace whinchat
