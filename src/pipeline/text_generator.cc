// SPDX-License-Identifier: Apache-2.0
// Loads all parts of a model and wires them: the parts' own work is in their own files.
#include "pipeline/text_generator.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cpu_topology.h"
#include "base/error.h"
#include "base/memory_limits.h"
#include "base/thread_pool.h"
#include "chat/reasoning_parser.h"
#include "kernels/kernel_table.h"
#include "pipeline/chat_template_loader.h"
#include "pipeline/memory_plan.h"
#include "pipeline/stream_generation.h"
#include "pipeline/tokenizer_loader.h"

namespace whinchat {
namespace {

class LoadedTextGenerator final : public TextGenerator {
 public:
  explicit LoadedTextGenerator(const LoadOptions& options);

  std::unique_ptr<Generation> GenerateChat(const std::vector<Message>& messages,
                                           const ChatTemplateOptions& template_options,
                                           const GenerateOptions& options) override;
  std::unique_ptr<Generation> GenerateText(std::string_view prompt,
                                           const GenerateOptions& options) override;
  std::unique_ptr<Generation> GenerateTokens(std::vector<TokenId> prompt,
                                             bool starts_in_reasoning,
                                             const GenerateOptions& options) override;
  std::string RenderChat(const std::vector<Message>& messages,
                         ChatTemplateOptions template_options) const override;

  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  const ChatTemplate* chat_template() const override { return chat_template_.get(); }
  const GenerationDefaults& defaults() const override { return defaults_; }
  Engine& engine() override { return *engine_; }
  EngineStats stats() const override { return engine_->Stats(); }
  int max_model_len() const override { return engine_->options().max_model_len; }
  bool enable_thinking() const override { return enable_thinking_; }
  const std::string& model_name() const override { return model_name_; }
  std::string Describe() const override { return description_; }

 private:
  void LoadText(const Checkpoint& checkpoint, const LoadOptions& options);
  void StartEngine(const Checkpoint& checkpoint, const LoadOptions& options);

  std::string model_name_;
  bool enable_thinking_;
  bool adds_bos_ = false;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> chat_template_;
  GenerationDefaults defaults_;
  std::string description_;
  std::atomic<uint64_t> num_requests_{0};
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Engine> engine_;  // last: it stops before what it uses goes away
};

// "SmolLM2-135M-Instruct.Q4_1" of a .gguf file, or the folder's name.
std::string BaseName(std::filesystem::path path) {
  path = std::filesystem::absolute(path).lexically_normal();
  if (!path.has_filename()) {  // a folder written with a slash at its end
    path = path.parent_path();
  }
  return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

void Report(const LoadOptions& options, std::string_view stage, double fraction) {
  if (options.on_progress) {
    options.on_progress(stage, fraction);
  }
}

std::string TokenText(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? std::string(tokenizer.TokenBytes(*id)) : std::string();
}

double Mib(size_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

MemoryNeeds ToMemoryNeeds(const Model& model, const LoadOptions& options, size_t budget_bytes) {
  const ModelConfig& config = model.config();
  const size_t logits_bytes =
      static_cast<size_t>(options.max_num_seqs) * model.logits_stride() * sizeof(float);
  MemoryNeeds needs;
  needs.weight_bytes = model.WeightBytes();
  needs.scratch_bytes = model.ScratchBytes(options.max_num_batched_tokens) + logits_bytes;
  needs.kv_block_bytes = model.kv_layout().BlockBytes();
  needs.model_max_len = config.max_seq_len > 0 ? config.max_seq_len : kDefaultMaxModelLen;
  needs.max_model_len = options.max_model_len;
  needs.max_num_seqs = options.max_num_seqs;
  needs.budget_bytes = budget_bytes;
  return needs;
}

LoadedTextGenerator::LoadedTextGenerator(const LoadOptions& options)
    : model_name_(BaseName(options.model_path)), enable_thinking_(options.enable_thinking) {
  Report(options, "opening", 0.0);
  const std::unique_ptr<Checkpoint> checkpoint = OpenCheckpoint(options.model_path);
  LoadText(*checkpoint, options);
  StartEngine(*checkpoint, options);
  Report(options, "ready", 1.0);
}

void LoadedTextGenerator::LoadText(const Checkpoint& checkpoint, const LoadOptions& options) {
  const ModelConfig config = ReadModelConfig(checkpoint);
  TokenizerSpec spec = LoadTokenizerSpec(checkpoint);
  adds_bos_ = spec.add_bos && spec.bos_token_id.has_value();
  tokenizer_ = std::make_unique<Tokenizer>(std::move(spec));
  chat_template_ = LoadChatTemplate(checkpoint, options.chat_template);
  defaults_ = ReadGenerationDefaults(checkpoint, *tokenizer_, config.architecture);
  // A tokenizer may know tokens for which the model has no row.
  std::erase_if(defaults_.eos_token_ids, [&](TokenId id) { return id >= config.vocab_size; });
}

void LoadedTextGenerator::StartEngine(const Checkpoint& checkpoint, const LoadOptions& options) {
  // Before the weights are loaded, or they would count as used and as needed.
  const size_t budget_bytes =
      options.memory_bytes.value_or(DefaultMemoryBudget(ReadMemoryLimits()));
  const int num_threads = options.num_threads > 0
                              ? options.num_threads
                              : DefaultNumThreads(ReadCpuTopology(AllowedCpus()));
  pool_ = std::make_unique<ThreadPool>(num_threads);
  const kernels::KernelTable& kernel_table = kernels::SelectKernelTable();

  ModelOptions model_options;
  model_options.weights = options.weights;
  model_options.packed_cache_dir = options.packed_cache_dir;
  model_options.on_pack_progress = [&](double fraction) { Report(options, "packing", fraction); };
  model_options.on_warning = options.on_warning;
  std::unique_ptr<Model> model = Model::Load(checkpoint, model_options, pool_.get(), kernel_table);

  const MemoryPlan plan = PlanMemory(ToMemoryNeeds(*model, options, budget_bytes));
  description_ = fmt::format(
      "{}: {} weights ({}) {:.0f} MiB; context {} tokens, KV cache {} tokens {:.0f} MiB; {} "
      "thread{}, {}; {:.0f} of {:.0f} MiB",
      model_name_,
      model->config().architecture,
      model->DescribeWeights(),
      Mib(model->WeightBytes()),
      plan.max_model_len,
      plan.num_kv_blocks * kKvBlockTokens,
      Mib(plan.kv_bytes),
      num_threads,
      num_threads == 1 ? "" : "s",
      kernels::IsaName(kernel_table.isa),
      Mib(plan.total_bytes),
      Mib(budget_bytes));

  EngineOptions engine_options;
  engine_options.max_model_len = plan.max_model_len;
  engine_options.max_num_seqs = options.max_num_seqs;
  engine_options.max_num_batched_tokens = options.max_num_batched_tokens;
  engine_options.max_num_waiting = options.max_num_waiting;
  engine_options.num_kv_blocks = plan.num_kv_blocks;
  engine_options.enable_prefix_caching = options.enable_prefix_caching;
  engine_ = std::make_unique<Engine>(std::move(model), engine_options);
}

std::string LoadedTextGenerator::RenderChat(const std::vector<Message>& messages,
                                            ChatTemplateOptions template_options) const {
  if (chat_template_ == nullptr) {
    ThrowError(ErrorCode::kUnsupported,
               "'{}' has no chat template: use text completion, or give a template",
               model_name_);
  }
  template_options.bos_token = TokenText(*tokenizer_, tokenizer_->bos_token_id());
  template_options.eos_token = TokenText(*tokenizer_, tokenizer_->eos_token_id());
  if (chat_template_->SupportsThinkingSwitch() &&
      !template_options.kwargs.contains("enable_thinking")) {
    template_options.kwargs["enable_thinking"] = enable_thinking_;
  }
  return chat_template_->Render(messages, template_options);
}

std::unique_ptr<Generation> LoadedTextGenerator::GenerateChat(
    const std::vector<Message>& messages,
    const ChatTemplateOptions& template_options,
    const GenerateOptions& options) {
  const std::string prompt = RenderChat(messages, template_options);
  // The template has written the BOS token where the model wants one.
  return GenerateTokens(tokenizer_->Encode(prompt), EndsInsideReasoning(prompt), options);
}

std::unique_ptr<Generation> LoadedTextGenerator::GenerateText(std::string_view prompt,
                                                              const GenerateOptions& options) {
  std::vector<TokenId> token_ids = tokenizer_->Encode(prompt);
  const std::optional<TokenId> bos = tokenizer_->bos_token_id();
  if (adds_bos_ && (token_ids.empty() || token_ids.front() != *bos)) {
    token_ids.insert(token_ids.begin(), *bos);
  }
  return GenerateTokens(std::move(token_ids), EndsInsideReasoning(prompt), options);
}

std::unique_ptr<Generation> LoadedTextGenerator::GenerateTokens(std::vector<TokenId> prompt,
                                                                bool starts_in_reasoning,
                                                                const GenerateOptions& options) {
  const int num_prompt_tokens = static_cast<int>(std::min<size_t>(prompt.size(), INT32_MAX));
  Request request;
  request.request_id = fmt::format("request-{}", num_requests_.fetch_add(1));
  request.prompt = std::move(prompt);
  request.sampling = options.sampling;
  request.cache_salt = options.cache_salt;
  request.priority = options.priority;
  if (!options.sampling.ignore_eos) {
    request.sampling.stop_token_ids.insert(request.sampling.stop_token_ids.end(),
                                           defaults_.eos_token_ids.begin(),
                                           defaults_.eos_token_ids.end());
  }
  // Bad stop strings are told before anything is queued.
  StopStringMatcher(options.stop, options.include_stop_str_in_output);
  return std::make_unique<StreamGeneration>(engine_->Submit(std::move(request)),
                                            *tokenizer_,
                                            options,
                                            starts_in_reasoning,
                                            num_prompt_tokens);
}

}  // namespace

std::unique_ptr<TextGenerator> TextGenerator::Load(const LoadOptions& options) {
  return std::make_unique<LoadedTextGenerator>(options);
}

}  // namespace whinchat
