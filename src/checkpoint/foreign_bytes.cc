// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/foreign_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace whinchat {
namespace {

constexpr size_t kMaxPrintedName = 120;

struct Signature {
  std::string_view start;
  std::string_view description;
};

constexpr std::array<Signature, 13> kSignatures = {{
    {"version https://git-lfs",
     "a Git LFS pointer, not the file it stands for: run 'git lfs pull' or download the file "
     "again"},
    {"<!doctype html", "an HTML page, not a model: the download was refused, download it again"},
    {"<html", "an HTML page, not a model: the download was refused, download it again"},
    {"<?xml", "an XML page, not a model: the download was refused, download it again"},
    {"{\"error\"", "a server's error message, not a model: download it again"},
    {"gguf", "a GGUF file: open it by a name that ends in .gguf"},
    {"lmgg", "in GGML's format from before GGUF: convert the original model to GGUF again"},
    {"tjgg", "in GGML's format from before GGUF: convert the original model to GGUF again"},
    {"fmgg", "in GGML's format from before GGUF: convert the original model to GGUF again"},
    {"algg", "a GGML adapter from before GGUF, not a model"},
    {"whinchat", "a packed file of this program: open the model it was made from"},
    {"pk\x03\x04", "a zip archive or a PyTorch pickle: unpack it, or convert it to safetensors"},
    {"\x1f\x8b", "compressed with gzip: unpack it first"},
}};

bool StartsWithIgnoringCase(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         std::equal(start.begin(), start.end(), text.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

// A safetensors file: eight bytes of header length, then JSON.
bool LooksLikeSafetensors(std::string_view text) {
  return text.size() > 10 && text[7] == '\0' && text[8] == '{' &&
         (text[9] == '"' || text[9] == '}');
}

}  // namespace

std::string DescribeForeignBytes(std::span<const std::byte> bytes, std::string_view expected) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) {
    return "empty: download or write it again";
  }
  if (std::all_of(text.begin(),
                  text.begin() + std::min<ptrdiff_t>(64, std::ssize(text)),
                  [](char c) { return c == '\0'; })) {
    return "filled with zeros, as after a broken download: download it again";
  }
  if (LooksLikeSafetensors(text)) {
    return "a safetensors file: open the folder that holds it and its config.json";
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  for (const Signature& signature : kSignatures) {
    if (StartsWithIgnoringCase(text, signature.start)) {
      return std::string(signature.description);
    }
  }
  return fmt::format("not a {} file", expected);
}

std::string PrintableName(std::string_view name) {
  std::string printable(name.substr(0, kMaxPrintedName));
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      c = '?';
    }
  }
  if (name.size() > kMaxPrintedName) {
    printable += "...";
  }
  return printable;
}

}  // namespace whinchat
