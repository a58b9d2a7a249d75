// SPDX-License-Identifier: Apache-2.0
// A request as the routes see it and an answer as they give it; no socket, no Beast.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"

namespace whinchat {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // percent-decoded, without the query
  std::vector<HttpHeader> headers;
  std::string body;

  // The first of that name, in any case; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<HttpHeader> headers;
  std::string body;
};

HttpResponse JsonResponse(std::string body);
HttpResponse ErrorResponse(const ErrorReply& reply);
// Head of a stream of server-sent events.
HttpResponse EventStreamResponse();

// "OK", "Not Found", ...
std::string_view ReasonPhrase(int status);

enum class BodyFraming { kContentLength, kChunked, kUntilClose };

// Status line and headers, up to the empty line. `content_length` counts with kContentLength.
std::string SerializeHead(const HttpResponse& response,
                          BodyFraming framing,
                          size_t content_length,
                          bool keep_alive);
// One chunk of a chunked body; an empty one would end it, so it gives nothing.
std::string FrameChunk(std::string_view bytes);
std::string_view LastChunk();

// "/v1/models/a%20b?x=1" -> "/v1/models/a b"; a broken escape stays as it is. The
// scheme and host of an absolute target are dropped.
std::string DecodePath(std::string_view target);

bool EqualsIgnoreCase(std::string_view a, std::string_view b);

}  // namespace whinchat
