// SPDX-License-Identifier: Apache-2.0
// From the body of a completion request to generations that run. Called on a worker thread, for
// templates and tokenizing take a while; throws Error for whatever is wrong with the request.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/answer_job.h"
#include "server/http_message.h"
#include "server/served_model.h"

namespace whinchat {

using UnknownFieldsFn = std::function<void(const std::vector<std::string>& names)>;

PreparedAnswer PrepareChat(const ServedModel& model,
                           const HttpRequest& request,
                           const UnknownFieldsFn& on_unknown_fields);
PreparedAnswer PrepareCompletion(const ServedModel& model,
                                 const HttpRequest& request,
                                 const UnknownFieldsFn& on_unknown_fields);

}  // namespace whinchat
