// SPDX-License-Identifier: Apache-2.0
// What can be said about the model at once: health, names, tokens. Each gives a whole answer or
// throws Error.
#pragma once

#include <chrono>

#include "server/http_message.h"
#include "server/served_model.h"

namespace whinchat {

enum class ServerPhase { kLoading, kServing, kDraining };

// 200 only while requests would get on: 503 while loading or draining, and when there is work but
// no step has ended for `stuck_timeout`.
HttpResponse HealthResponse(ServerPhase phase,
                            const ServedModel* model,
                            std::chrono::milliseconds stuck_timeout);

HttpResponse TokenizeResponse(const ServedModel& model, const HttpRequest& request);
HttpResponse DetokenizeResponse(const ServedModel& model, const HttpRequest& request);

}  // namespace whinchat
