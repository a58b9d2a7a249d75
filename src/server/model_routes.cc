// SPDX-License-Identifier: Apache-2.0
#include "server/model_routes.h"

#include <fmt/format.h>

#include "api/tokenize_request.h"

namespace whinchat {
namespace {

HttpResponse Unhealthy(std::string message, std::string code) {
  return ErrorResponse(MakeErrorReply(503, std::move(message), std::move(code)));
}

}  // namespace

HttpResponse HealthResponse(ServerPhase phase,
                            const ServedModel* model,
                            std::chrono::milliseconds stuck_timeout) {
  if (phase == ServerPhase::kDraining) {
    return Unhealthy("The server is shutting down.", "draining");
  }
  if (phase == ServerPhase::kLoading || model == nullptr) {
    return Unhealthy("The model is being loaded.", "model_loading");
  }
  const double idle_seconds = model->generator->stats().seconds_since_last_step;
  if (idle_seconds > std::chrono::duration<double>(stuck_timeout).count()) {
    return Unhealthy(
        fmt::format("There is work, but the last step ended {:.0f} s ago.", idle_seconds), "stuck");
  }
  return JsonResponse(R"({"status":"ok"})");
}

HttpResponse TokenizeResponse(const ServedModel& model, const HttpRequest& request) {
  TokenizeRequest tokenize = ParseTokenizeRequest(request.body, model.defaults);
  CheckModelName(model, tokenize.model);
  const std::string text =
      tokenize.prompt.has_value()
          ? *tokenize.prompt
          : model.generator->RenderChat(tokenize.messages, std::move(tokenize.template_options));
  EncodeOptions options;
  options.add_special_tokens = tokenize.add_special_tokens;
  return JsonResponse(
      TokenizeBody(model.generator->tokenizer().Encode(text, options),
                   model.generator->max_model_len(),
                   tokenize.return_token_strs ? TokenTextOf(model) : TokenTextFn()));
}

HttpResponse DetokenizeResponse(const ServedModel& model, const HttpRequest& request) {
  const DetokenizeRequest detokenize = ParseDetokenizeRequest(request.body, model.defaults);
  CheckModelName(model, detokenize.model);
  return JsonResponse(DetokenizeBody(model.generator->tokenizer().Decode(detokenize.tokens)));
}

}  // namespace whinchat
