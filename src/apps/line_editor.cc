// SPDX-License-Identifier: Apache-2.0
#include "apps/line_editor.h"

#include <histedit.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace whinchat::apps {
namespace {

constexpr int kMaxHistory = 1000;

}  // namespace

struct LineEditor::State {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::filesystem::path history_file;
  std::string prompt;

  static char* Prompt(EditLine* editor) {
    void* client_data = nullptr;
    el_get(editor, EL_CLIENTDATA, &client_data);
    return static_cast<State*>(client_data)->prompt.data();
  }

  // One physical line with its newline, or nothing: end of input, or a signal (errno is EINTR).
  const char* Read(int* length) {
    errno = 0;
    return el_gets(editor, length);
  }

  void Remember(const std::string& line) {
    HistEvent event;
    ::history(history, &event, H_ENTER, line.c_str());
    if (!history_file.empty()) {
      ::history(history, &event, H_SAVE, history_file.c_str());
    }
  }
};

LineEditor::LineEditor(std::filesystem::path history_file) : state_(std::make_unique<State>()) {
  HistEvent event;
  state_->history = history_init();
  history(state_->history, &event, H_SETSIZE, kMaxHistory);
  history(state_->history, &event, H_SETUNIQUE, 1);
  if (!history_file.empty()) {
    std::error_code error;
    std::filesystem::create_directories(history_file.parent_path(), error);
    history(state_->history, &event, H_LOAD, history_file.c_str());
  }
  state_->history_file = std::move(history_file);
  state_->editor = el_init("whinchat", stdin, stdout, stderr);
  el_set(state_->editor, EL_CLIENTDATA, state_.get());
  el_set(state_->editor, EL_PROMPT, &State::Prompt);
  el_set(state_->editor, EL_EDITOR, "emacs");
  el_set(state_->editor, EL_SIGNAL, 0);
  el_set(state_->editor, EL_HIST, history, state_->history);
  el_set(state_->editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(state_->editor, nullptr);
}

LineEditor::~LineEditor() {
  el_end(state_->editor);
  history_end(state_->history);
}

std::optional<std::string> LineEditor::ReadLine(const std::string& prompt) {
  state_->prompt = prompt;
  std::string text;
  while (true) {
    int length = 0;
    const char* line = state_->Read(&length);
    if (line == nullptr || length <= 0) {
      if (errno == EINTR) {
        el_reset(state_->editor);
        std::fputs("\n", stdout);
        return std::string();
      }
      return text.empty() ? std::nullopt : std::optional<std::string>(text);
    }
    text.append(line, static_cast<size_t>(length));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
      text.pop_back();
    }
    if (text.empty() || text.back() != '\\') {
      break;
    }
    text.back() = '\n';
    state_->prompt = "... ";
  }
  if (!text.empty()) {
    state_->Remember(text);
  }
  return text;
}

}  // namespace whinchat::apps
