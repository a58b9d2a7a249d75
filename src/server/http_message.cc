// SPDX-License-Identifier: Apache-2.0
#include "server/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace whinchat {

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (EqualsIgnoreCase(header.name, name)) {
      return header.value;
    }
  }
  return {};
}

HttpResponse JsonResponse(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

HttpResponse ErrorResponse(const ErrorReply& reply) {
  HttpResponse response = JsonResponse(ErrorBody(reply));
  response.status = reply.http_status;
  if (reply.retry_after_seconds.has_value()) {
    response.headers.push_back({"Retry-After", std::to_string(*reply.retry_after_seconds)});
  }
  if (reply.http_status == 401) {
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
  }
  return response;
}

HttpResponse EventStreamResponse() {
  HttpResponse response;
  response.content_type = "text/event-stream; charset=utf-8";
  // The last one keeps nginx from holding events back.
  response.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  return response;
}

std::string_view ReasonPhrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {200, "OK"},
      {204, "No Content"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {413, "Payload Too Large"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {503, "Service Unavailable"},
  };
  for (const auto& [code, phrase] : kPhrases) {
    if (code == status) {
      return phrase;
    }
  }
  return "Unknown";
}

std::string SerializeHead(const HttpResponse& response,
                          BodyFraming framing,
                          size_t content_length,
                          bool keep_alive) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, ReasonPhrase(response.status));
  if (response.status != 204) {
    head += fmt::format("Content-Type: {}\r\n", response.content_type);
  }
  for (const HttpHeader& header : response.headers) {
    head += fmt::format("{}: {}\r\n", header.name, header.value);
  }
  if (framing == BodyFraming::kChunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (framing == BodyFraming::kContentLength && response.status != 204) {
    head += fmt::format("Content-Length: {}\r\n", content_length);
  }
  head += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return head + "\r\n";
}

std::string FrameChunk(std::string_view bytes) {
  return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

std::string_view LastChunk() {
  return "0\r\n\r\n";
}

std::string DecodePath(std::string_view target) {
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const size_t path_begin = target.find('/', target.find("://") + 3);
    target = path_begin == std::string_view::npos ? "/" : target.substr(path_begin);
  }
  target = target.substr(0, target.find('?'));
  std::string path;
  for (size_t i = 0; i < target.size(); ++i) {
    unsigned value = 0;
    const char* digits = target.data() + i + 1;
    if (target[i] == '%' && i + 2 < target.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      path.push_back(static_cast<char>(value));
      i += 2;
    } else {
      path.push_back(target[i]);
    }
  }
  return path;
}

}  // namespace whinchat
