// SPDX-License-Identifier: Apache-2.0
#include "server/service.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "api/api_error.h"
#include "api/json_reader.h"
#include "server/generation_routes.h"

namespace whinchat {
namespace {

constexpr size_t kMaxLoggedFields = 256;  // each is named once, and a client can't fill the log
constexpr size_t kMaxLoggedNameBytes = 64;
constexpr std::string_view kModelsPrefix = "/v1/models/";

bool PathMatches(std::string_view route_path, std::string_view path) {
  const bool is_prefix = route_path.size() > 1 && route_path.back() == '/';
  return is_prefix ? path.size() > route_path.size() && path.starts_with(route_path)
                   : path == route_path;
}

}  // namespace

Service::Service(const ServerOptions& options, std::shared_ptr<TaskQueue> loop)
    : options_(options),
      loop_(std::move(loop)),
      access_(options.api_keys, options.allowed_origins),
      workers_(options.num_worker_threads) {
  AddRoutes();
}

void Service::AddRoutes() {
  const auto health = Now([this](const HttpRequest&) {
    const std::lock_guard lock(mutex_);
    return HealthResponse(phase_, model_.get(), options_.stuck_timeout);
  });
  const std::string version = options_.version;
  routes_ = {
      {"GET", "/", Now([version](const HttpRequest&) {
         return JsonResponse(DumpJson({{"name", "whinchat"}, {"version", version}}));
       })},
      {"GET", "/health", health},
      {"POST", "/health", health},
      {"GET", "/ping", health},
      {"POST", "/ping", health},
      {"GET", "/version", Now([version](const HttpRequest&) {
         return JsonResponse(DumpJson(nlohmann::ordered_json{{"version", version}}));
       })},
      {"GET", "/metrics", Now([this](const HttpRequest&) { return ExposeMetrics(); })},
      {"GET", "/v1/models", Now([this](const HttpRequest&) {
         const auto served = model();
         return JsonResponse(ModelListBody(served->names, served->card));
       })},
      {"GET", kModelsPrefix, Now([this](const HttpRequest& request) {
         const auto served = model();
         return JsonResponse(ModelBody(std::string_view(request.path).substr(kModelsPrefix.size()),
                                       served->names,
                                       served->card));
       })},
      {"POST", "/tokenize", OnWorker([this](const HttpRequest& request) {
         return TokenizeResponse(*model(), request);
       })},
      {"POST", "/detokenize", OnWorker([this](const HttpRequest& request) {
         return DetokenizeResponse(*model(), request);
       })},
      {"POST", "/v1/chat/completions", Generate(PrepareChat, "messages")},
      {"POST", "/v1/completions", Generate(PrepareCompletion, "prompt")},
  };
}

void Service::SetGenerator(TextGenerator* generator) {
  auto served = std::make_shared<const ServedModel>(MakeServedModel(generator, options_));
  const std::lock_guard lock(mutex_);
  model_ = std::move(served);
  phase_ = phase_ == ServerPhase::kLoading ? ServerPhase::kServing : phase_;
}

void Service::BeginDrain() {
  const std::lock_guard lock(mutex_);
  phase_ = ServerPhase::kDraining;
}

std::shared_ptr<const ServedModel> Service::model() const {
  const std::lock_guard lock(mutex_);
  if (phase_ != ServerPhase::kServing) {
    const bool is_loading = phase_ == ServerPhase::kLoading;
    throw ApiError(ErrorCode::kUnavailable,
                   MakeErrorReply(503,
                                  is_loading ? "The model is being loaded; try again in a moment."
                                             : "The server is shutting down.",
                                  is_loading ? "model_loading" : "draining"));
  }
  return model_;
}

void Service::Handle(const std::shared_ptr<Exchange>& exchange) {
  if (const auto refusal = access_.Check(exchange->request())) {
    exchange->Respond(ErrorResponse(*refusal));
    return;
  }
  const auto failure = Guard([&] { RouteByPath(exchange); }, "messages");
  if (failure.has_value()) {
    exchange->Respond(ErrorResponse(*failure));
  }
}

void Service::RouteByPath(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const std::string allowed = AllowedMethods(request.path);
  if (request.method == "OPTIONS" && (!allowed.empty() || request.path == "*")) {
    exchange->Respond(access_.Preflight(request, allowed));
    return;
  }
  // Views of both, or the choice between them would be a temporary string.
  const std::string_view asked = request.method;
  const std::string_view method = asked == "HEAD" ? std::string_view("GET") : asked;
  for (const Route& route : routes_) {
    if (route.method == method && PathMatches(route.path, request.path)) {
      route.handler(exchange);
      return;
    }
  }
  if (allowed.empty()) {
    exchange->Respond(ErrorResponse(MakeErrorReply(
        404, fmt::format("There is no {} {}.", request.method, request.path), "not_found")));
    return;
  }
  HttpResponse response = ErrorResponse(
      MakeErrorReply(405,
                     fmt::format("{} takes {}, not {}.", request.path, allowed, request.method),
                     "method_not_allowed"));
  response.headers.push_back({"Allow", allowed});
  exchange->Respond(std::move(response));
}

std::string Service::AllowedMethods(std::string_view path) const {
  std::string methods;
  for (const Route& route : routes_) {
    if (PathMatches(route.path, path)) {
      methods += fmt::format("{}{}", route.method, route.method == "GET" ? ", HEAD, " : ", ");
    }
  }
  return methods.empty() ? methods : methods + "OPTIONS";
}

Service::Handler Service::Now(Responder responder) {
  return [responder = std::move(responder)](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond(responder(exchange->request()));
  };
}

Service::Handler Service::OnWorker(Responder responder) {
  return [this, responder = std::move(responder)](const std::shared_ptr<Exchange>& exchange) {
    workers_.Post([this, responder, exchange] {
      HttpResponse response;
      const auto failure = Guard([&] { response = responder(exchange->request()); }, "messages");
      if (failure.has_value()) {
        response = ErrorResponse(*failure);
      }
      loop_->Post([exchange, response = std::move(response)] { exchange->Respond(response); });
    });
  };
}

Service::Handler Service::Generate(Preparer prepare, std::string_view prompt_field) {
  return [this, prepare, prompt_field](const std::shared_ptr<Exchange>& exchange) {
    workers_.Post([this, prepare, prompt_field, exchange] {
      if (exchange->is_gone()) {
        return;  // while it waited for a worker
      }
      auto prepared = std::make_shared<PreparedAnswer>();  // a Task must be copyable
      const auto failure = Guard(
          [&] {
            *prepared = prepare(*model(), exchange->request(), [this](const auto& names) {
              LogUnknownFields(names);
            });
          },
          prompt_field);
      loop_->Post([this, exchange, prepared, failure] {
        if (failure.has_value()) {
          exchange->Respond(ErrorResponse(*failure));
        } else {
          AnswerJob::Start(
              exchange, std::move(*prepared), {loop_, &workers_, &metrics_, options_.log});
        }
      });
    });
  };
}

std::optional<ErrorReply> Service::Guard(const std::function<void()>& action,
                                         std::string_view prompt_field) const {
  try {
    action();
    return std::nullopt;
  } catch (const Error& error) {
    ErrorReply reply = ToErrorReply(error);
    if (error.code() == ErrorCode::kContextLengthExceeded) {
      reply.param = prompt_field;
    }
    return reply;
  } catch (const std::bad_alloc&) {
    return MakeErrorReply(503, "Not enough memory for this request.", "out_of_memory");
  } catch (const std::exception& error) {
    Log(fmt::format("A request failed unexpectedly: {}", error.what()));
    return MakeErrorReply(500, "The server failed on this request; its log says more.", "internal");
  }
}

HttpResponse Service::ExposeMetrics() const {
  EngineStats stats;
  std::string model_name;
  {
    const std::lock_guard lock(mutex_);
    if (model_ != nullptr) {
      stats = model_->generator->stats();
      model_name = model_->names.primary();
    }
  }
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics_.Expose(stats, model_name);
  return response;
}

void Service::LogUnknownFields(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string shown = name.substr(0, kMaxLoggedNameBytes);
    bool is_new = false;
    {
      const std::lock_guard lock(mutex_);
      is_new = logged_fields_.size() < kMaxLoggedFields && logged_fields_.insert(shown).second;
    }
    if (is_new) {
      Log(fmt::format("A request has the field {}, which has no effect here (said once).",
                      DumpJson(shown)));
    }
  }
}

void Service::Log(std::string_view line) const {
  if (options_.log) {
    options_.log(line);
  }
}

}  // namespace whinchat
