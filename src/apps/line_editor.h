// SPDX-License-Identifier: Apache-2.0
// A line of input from the terminal with editing and history (libedit), UTF-8 throughout.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace whinchat::apps {

class LineEditor {
 public:
  // History is read from and kept in `history_file`; empty: not kept.
  explicit LineEditor(std::filesystem::path history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The line without its newline. A line that ends in a backslash goes on in the next one.
  // Nothing at the end of input. Ctrl-C gives an empty line.
  std::optional<std::string> ReadLine(const std::string& prompt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace whinchat::apps
