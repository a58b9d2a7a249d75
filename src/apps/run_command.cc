// SPDX-License-Identifier: Apache-2.0
// `whinchat run`: a chat on a terminal, or one answer where a prompt is given or piped in.
// The answer goes to standard output, everything else to standard error.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/chat_session.h"
#include "apps/commands.h"
#include "apps/line_editor.h"
#include "apps/model_flags.h"
#include "base/error.h"
#include "hub/model_store.h"

namespace whinchat::apps {
namespace {

struct RunFlags {
  ModelFlags model;
  std::vector<std::string> prompt;
  // Small models answer better when told what they are; --system "" sends none.
  std::string system_prompt = "You are a helpful assistant.";
  std::optional<bool> enable_thinking;
  std::optional<int> max_tokens;
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<int> top_k;
  std::optional<uint64_t> seed;
};

// Set by Ctrl-C; the answer's loop looks at it between tokens.
std::atomic<bool> g_is_interrupted{false};

void OnInterrupt(int /*signal*/) {
  g_is_interrupted.store(true, std::memory_order_relaxed);
}

// No SA_RESTART: a read of the terminal must return so that the prompt can start afresh.
void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

double PeakMemoryMib() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts KiB
}

GenerateOptions MakeGenerateOptions(const TextGenerator& generator,
                                    const RunFlags& flags,
                                    bool enable_thinking) {
  GenerateOptions options;
  const GenerationDefaults& defaults = generator.defaults();
  options.sampling = enable_thinking ? defaults.thinking : defaults.non_thinking;
  options.sampling.max_tokens = flags.max_tokens.value_or(options.sampling.max_tokens);
  options.sampling.temperature = flags.temperature.value_or(options.sampling.temperature);
  options.sampling.top_p = flags.top_p.value_or(options.sampling.top_p);
  options.sampling.top_k = flags.top_k.value_or(options.sampling.top_k);
  if (flags.seed) {
    options.sampling.seed = flags.seed;
  }
  return options;
}

// Waits for the next piece of an answer, but looks up often enough for Ctrl-C to stop a long prompt
// before its first token too.
class DeltaReader {
 public:
  explicit DeltaReader(Generation* generation) : generation_(generation) {
    generation_->SetWake([this] {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_awake_ = true;
      wake_.notify_one();
    });
  }
  ~DeltaReader() { generation_->SetWake({}); }
  DeltaReader(const DeltaReader&) = delete;
  DeltaReader& operator=(const DeltaReader&) = delete;

  // Nothing after the end.
  std::optional<GenerationDelta> Next() {
    constexpr std::chrono::milliseconds kLookUp(50);
    while (true) {
      if (g_is_interrupted.load(std::memory_order_relaxed)) {
        generation_->Cancel();
      }
      if (std::optional<GenerationDelta> delta = generation_->TryNext()) {
        return delta;
      }
      if (generation_->is_finished()) {
        return std::nullopt;
      }
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait_for(lock, kLookUp, [this] { return is_awake_; });
      is_awake_ = false;
    }
  }

 private:
  Generation* generation_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_awake_ = false;
};

struct Answer {
  Message message;
  AnswerStats stats;
};

// Shows thoughts dim on a terminal; piped output gets the answer alone.
class AnswerPrinter {
 public:
  AnswerPrinter() : is_terminal_(::isatty(STDOUT_FILENO) != 0) {}

  void Print(const GenerationDelta& delta) {
    if (is_terminal_ && !delta.reasoning_content.empty()) {
      std::fputs(is_in_thought_ ? "" : "\033[2m", stdout);
      is_in_thought_ = true;
      std::fwrite(delta.reasoning_content.data(), 1, delta.reasoning_content.size(), stdout);
    }
    if (!delta.content.empty()) {
      EndThought();
      std::fwrite(delta.content.data(), 1, delta.content.size(), stdout);
    }
    std::fflush(stdout);
  }

  void Finish() {
    EndThought();
    std::fputs("\n", stdout);
    std::fflush(stdout);
  }

 private:
  void EndThought() {
    if (is_in_thought_) {
      std::fputs("\033[0m\n\n", stdout);
      is_in_thought_ = false;
    }
  }

  bool is_terminal_;
  bool is_in_thought_ = false;
};

Answer StreamAnswer(TextGenerator& generator,
                    const std::vector<Message>& messages,
                    const RunFlags& flags,
                    std::optional<bool> thinking_switch) {
  const bool enable_thinking =
      thinking_switch.value_or(flags.enable_thinking.value_or(generator.enable_thinking()));
  ChatTemplateOptions template_options;
  template_options.kwargs["enable_thinking"] = enable_thinking;
  std::unique_ptr<Generation> generation =
      generator.chat_template() != nullptr
          ? generator.GenerateChat(
                messages, template_options, MakeGenerateOptions(generator, flags, enable_thinking))
          : generator.GenerateText(messages.back().content,
                                   MakeGenerateOptions(generator, flags, enable_thinking));
  Answer answer;
  answer.message.role = "assistant";
  AnswerPrinter printer;
  g_is_interrupted.store(false, std::memory_order_relaxed);
  DeltaReader reader(generation.get());
  while (std::optional<GenerationDelta> delta = reader.Next()) {
    printer.Print(*delta);
    answer.message.content += delta->content;
    if (!delta->reasoning_content.empty()) {
      answer.message.reasoning_content =
          answer.message.reasoning_content.value_or("") + delta->reasoning_content;
    }
    if (delta->finish_reason != FinishReason::kNone) {
      answer.stats.finish_reason = delta->finish_reason;
    }
  }
  printer.Finish();
  answer.stats.usage = generation->usage();
  answer.stats.timings = generation->timings();
  return answer;
}

void PrintStats(const AnswerStats& stats) {
  std::fprintf(stderr, "%s, peak memory %.0f MiB\n", FormatStats(stats).c_str(), PeakMemoryMib());
}

// The same prompt gives the same answer each time, so that scripts can rely on it; --seed varies
// it.
void AnswerOnce(TextGenerator& generator, RunFlags flags, const std::string& prompt) {
  CatchInterrupts();
  flags.seed = flags.seed.value_or(0);
  const ChatSession session(flags.system_prompt);
  const Answer answer = StreamAnswer(generator, session.MessagesWith(prompt), flags, std::nullopt);
  PrintStats(answer.stats);
}

// Returns false when the user wants to leave.
bool DoChatLine(TextGenerator& generator,
                const RunFlags& flags,
                ChatSession* session,
                const std::string& line) {
  try {
    if (const auto result = session->HandleCommand(line)) {
      std::printf("%s%s", result->text.c_str(), result->text.empty() ? "" : "\n");
      return !result->should_quit;
    }
    Answer answer =
        StreamAnswer(generator, session->MessagesWith(line), flags, session->enable_thinking());
    std::printf("\033[2m%s\033[0m\n", FormatStats(answer.stats).c_str());
    session->AddRound(line, std::move(answer.message), answer.stats);
  } catch (const Error& error) {
    // A mistyped file name or too long a message must not end the conversation.
    std::fprintf(stderr, "%s\n", error.what());
  }
  return true;
}

void Chat(TextGenerator& generator, const RunFlags& flags) {
  CatchInterrupts();
  std::printf("%s\n/help lists the commands, Ctrl-D leaves.\n", generator.Describe().c_str());
  ChatSession session(flags.system_prompt);
  LineEditor editor(CacheFolder() / "history");
  while (const std::optional<std::string> line = editor.ReadLine("> ")) {
    if (!line->empty() && !DoChatLine(generator, flags, &session, *line)) {
      break;
    }
  }
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

void Run(const RunFlags& flags) {
  std::string prompt = JoinWords(flags.prompt);
  if (prompt.empty() && ::isatty(STDIN_FILENO) == 0) {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    if (prompt.empty()) {
      ThrowError(ErrorCode::kInvalidArgument,
                 "there is no prompt: give one as an argument, pipe one in, or use a terminal");
    }
  }
  const std::unique_ptr<TextGenerator> generator = LoadGenerator(flags.model);
  if (prompt.empty()) {
    Chat(*generator, flags);
  } else {
    AnswerOnce(*generator, flags, prompt);
  }
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("run", "Chat in the terminal, or answer one prompt");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("prompt", flags->prompt, "Answer this and leave");
  AddModelFlags(command, &flags->model);
  command->add_option("--system", flags->system_prompt, "System prompt (\"\": none)");
  command->add_flag("--think,!--no-think", flags->enable_thinking, "Think before answering");
  command->add_option("--max-tokens", flags->max_tokens, "Longest answer in tokens")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--temperature", flags->temperature, "0 takes the likeliest token")
      ->check(CLI::Range(0.0F, 2.0F));
  command->add_option("--top-p", flags->top_p)->check(CLI::Range(0.0F, 1.0F));
  command->add_option("--top-k", flags->top_k)->check(CLI::Range(0, 1 << 20));
  command->add_option(
      "--seed",
      flags->seed,
      "The same seed gives the same answer (default: 0 for one prompt, random in a chat)");
  command->callback([flags, exit_code] {
    Run(*flags);
    *exit_code = 0;
  });
}

}  // namespace whinchat::apps
