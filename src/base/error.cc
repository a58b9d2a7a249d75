// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace whinchat {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCorruptFile:
      return "corrupt_file";
    case ErrorCode::kIo:
      return "io_error";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kContextLengthExceeded:
      return "context_length_exceeded";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace whinchat
