// SPDX-License-Identifier: Apache-2.0
#include "model/weight_binding.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "base/error.h"
#include "model/architectures/architecture.h"
#include "model/weight_map.h"
#include "model/weight_packing.h"

namespace whinchat {
namespace {

// Part of every packed file's fingerprint: raise it when packing gives other bytes than before.
constexpr int kPackingVersion = 1;

std::string_view ModeName(WeightMode mode) {
  switch (mode) {
    case WeightMode::kF32:
      return "f32";
    case WeightMode::kBF16:
      return "bf16";
    case WeightMode::kAuto:
      return "auto";
  }
  return "unknown";
}

std::string PackedFingerprint(const Checkpoint& checkpoint, WeightMode mode) {
  return fmt::format("{}|{}|{}", checkpoint.Fingerprint(), ModeName(mode), kPackingVersion);
}

uint64_t HashFnv1a(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return hash;
}

// Base models saved alone leave out the "model." of the causal model's names.
const TensorView* FindTensor(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView* tensor = checkpoint.FindTensor(name);
  constexpr std::string_view kPrefix = "model.";
  if (tensor == nullptr && name.starts_with(kPrefix)) {
    tensor = checkpoint.FindTensor(std::string_view(name).substr(kPrefix.size()));
  }
  return tensor;
}

std::vector<int64_t> ExpectedShape(const WeightSpec& spec) {
  if (spec.vector != nullptr) {
    return {spec.shape.k};
  }
  return {spec.shape.n, spec.shape.k};
}

void CheckTensor(const Checkpoint& checkpoint, const WeightSpec& spec, const TensorView& tensor) {
  TensorView expected;
  expected.shape = ExpectedShape(spec);
  if (tensor.shape != expected.shape) {
    ThrowError(ErrorCode::kCorruptFile,
               "'{}': tensor {} has shape {}, expected {}",
               checkpoint.path().string(),
               tensor.name,
               tensor.ShapeText(),
               expected.ShapeText());
  }
  const DType dtype = tensor.dtype;
  const bool is_float = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
  if (!is_float && (BlockElements(dtype) == 1 || spec.vector != nullptr)) {
    ThrowError(ErrorCode::kUnsupported,
               "'{}': tensor {} is {}, expected {}",
               checkpoint.path().string(),
               tensor.name,
               DTypeName(dtype),
               spec.vector != nullptr ? "F32, F16 or BF16" : "a float or a GGUF block type");
  }
}

// Ignoring these would give wrong answers without a word.
bool ChangesTheAnswer(std::string_view tensor_name) {
  return tensor_name.ends_with(".bias") || tensor_name.find("_exps") != std::string_view::npos ||
         tensor_name.find("expert") != std::string_view::npos ||
         tensor_name.find("q_norm") != std::string_view::npos ||
         tensor_name.find("k_norm") != std::string_view::npos ||
         tensor_name.find(".qweight") != std::string_view::npos;
}

void RefuseUnknownTensors(const Checkpoint& checkpoint, const std::vector<WeightSource>& sources) {
  std::unordered_set<const TensorView*> used;
  for (const WeightSource& source : sources) {
    used.insert(source.tensor);
  }
  for (const TensorView& tensor : checkpoint.tensors()) {
    if (!used.contains(&tensor) && ChangesTheAnswer(tensor.name)) {
      ThrowError(ErrorCode::kUnsupported,
                 "'{}': tensor {} is not part of this architecture as supported here",
                 checkpoint.path().string(),
                 tensor.name);
    }
  }
}

std::vector<WeightSource> FindSources(const Checkpoint& checkpoint,
                                      const std::vector<WeightSpec>& specs,
                                      WeightMode mode) {
  std::vector<WeightSource> sources;
  sources.reserve(specs.size());
  std::string missing;
  for (const WeightSpec& spec : specs) {
    const TensorView* tensor = FindTensor(checkpoint, spec.tensor_name);
    if (tensor == nullptr) {
      missing = missing.empty() && !spec.is_optional ? spec.tensor_name : missing;
      continue;
    }
    CheckTensor(checkpoint, spec, *tensor);
    const PackedType type = spec.vector != nullptr
                                ? PackedType::kF32
                                : ChoosePackedType(mode, tensor->dtype, spec.shape.k);
    sources.push_back({&spec, tensor, type, checkpoint.path().string()});
  }
  // First: a file of another architecture is best named by what it has, not by what it lacks.
  RefuseUnknownTensors(checkpoint, sources);
  if (!missing.empty()) {
    ThrowError(
        ErrorCode::kCorruptFile, "'{}': tensor {} is missing", checkpoint.path().string(), missing);
  }
  return sources;
}

void BindOne(const WeightSpec& spec, PackedType type, const std::byte* bytes) {
  if (spec.vector != nullptr) {
    *spec.vector = {reinterpret_cast<const float*>(bytes), static_cast<size_t>(spec.shape.k)};
  } else {
    *spec.matrix = {type, spec.shape.n, spec.shape.k, bytes};
  }
}

// Whether a packed tensor is what the spec asks for. The type itself follows from the source's; the
// forward pass relies on the weights of one input being all quantized or all floats.
bool Matches(const WeightSpec& spec, const PackedTensor& tensor, WeightMode mode) {
  const bool is_quantized =
      spec.matrix != nullptr && mode == WeightMode::kAuto && spec.shape.k % kGroupSize == 0;
  return IsQuantized(tensor.type) == is_quantized && tensor.is_vector == (spec.vector != nullptr) &&
         tensor.n == spec.shape.n && tensor.k == spec.shape.k &&
         tensor.bytes.size() == PackedBytes(spec, tensor.type);
}

// Binds every weight to the packed file. False, and nothing bound, if the file does not hold this
// model as this program would pack it now.
bool BindToFile(const std::vector<WeightSpec>& specs,
                const nlohmann::json& config,
                std::string_view fingerprint,
                WeightMode mode,
                std::unique_ptr<PackedFile> file,
                ModelWeights* weights) {
  if (file->fingerprint() != fingerprint || file->config() != config) {
    return false;
  }
  std::vector<const PackedTensor*> tensors;
  for (const WeightSpec& spec : specs) {
    const PackedTensor* tensor = file->FindTensor(spec.name);
    if (tensor == nullptr ? !spec.is_optional : !Matches(spec, *tensor, mode)) {
      return false;
    }
    tensors.push_back(tensor);
  }
  weights->total_bytes = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (tensors[i] != nullptr) {
      BindOne(specs[i], tensors[i]->type, tensors[i]->bytes.data());
      weights->total_bytes += tensors[i]->bytes.size();
    }
  }
  file->file().WillNeed(0, file->file().bytes().size());
  weights->file = std::move(file);
  return true;
}

bool BindToExistingFile(const std::filesystem::path& path,
                        const std::vector<WeightSpec>& specs,
                        const nlohmann::json& config,
                        std::string_view fingerprint,
                        WeightMode mode,
                        ModelWeights* weights) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return false;
  }
  try {
    return BindToFile(
        specs, config, fingerprint, mode, std::make_unique<PackedFile>(path), weights);
  } catch (const Error&) {
    return false;  // damaged or of an older format: it is packed again
  }
}

void Warn(const ModelOptions& options, std::string_view reason) {
  if (options.on_warning) {
    options.on_warning(fmt::format(
        "the packed weights are kept in memory, because no file can be written: {}", reason));
  }
}

// Calls the user's progress function as weights get packed.
class PackProgress {
 public:
  PackProgress(const std::vector<WeightSource>& sources, const ModelOptions& options)
      : options_(options) {
    for (const WeightSource& source : sources) {
      total_bytes_ += PackedBytes(*source.spec, source.type);
    }
  }

  size_t total_bytes() const { return total_bytes_; }

  void Add(size_t bytes) {
    done_bytes_ += bytes;
    if (options_.on_pack_progress) {
      options_.on_pack_progress(static_cast<double>(done_bytes_) /
                                static_cast<double>(total_bytes_));
    }
  }

 private:
  const ModelOptions& options_;
  size_t total_bytes_ = 0;
  size_t done_bytes_ = 0;
};

void PackToMemory(const std::vector<WeightSource>& sources,
                  const ModelOptions& options,
                  ThreadPool* pool,
                  ModelWeights* weights) {
  const auto aligned = [](size_t bytes) {
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  };
  size_t mapping_bytes = 0;
  for (const WeightSource& source : sources) {
    mapping_bytes += aligned(PackedBytes(*source.spec, source.type));
  }
  weights->memory = AnonymousMapping(mapping_bytes, "the model's weights");
  PackProgress progress(sources, options);
  std::byte* next = weights->memory.data();
  for (const WeightSource& source : sources) {
    const size_t bytes = PackedBytes(*source.spec, source.type);
    PackWeight(source, pool, {next, bytes});
    BindOne(*source.spec, source.type, next);
    next += aligned(bytes);
    progress.Add(bytes);
  }
  weights->total_bytes = progress.total_bytes();
}

// False, after a warning, where no file can be written: a full disk or a folder of someone else.
bool PackToFile(const std::filesystem::path& path,
                const std::vector<WeightSource>& sources,
                std::string_view fingerprint,
                const nlohmann::json& config,
                const ModelOptions& options,
                ThreadPool* pool) {
  std::vector<PackedTensorPlan> plans;
  plans.reserve(sources.size());
  for (const WeightSource& source : sources) {
    const WeightSpec& spec = *source.spec;
    plans.push_back({spec.name,
                     source.type,
                     spec.vector != nullptr,
                     spec.shape.n,
                     spec.shape.k,
                     PackedBytes(spec, source.type)});
  }
  PackProgress progress(sources, options);
  try {
    std::filesystem::create_directories(path.parent_path());
    WritePackedFile(path, fingerprint, config, plans, [&](size_t idx, std::span<std::byte> bytes) {
      PackWeight(sources[idx], pool, bytes);
      progress.Add(bytes.size());
    });
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo) {
      throw;
    }
    Warn(options, error.message());
  } catch (const std::filesystem::filesystem_error& error) {
    Warn(options, error.what());
  }
  return false;
}

}  // namespace

std::filesystem::path PackedFilePath(const Checkpoint& checkpoint, const ModelOptions& options) {
  std::string stem = checkpoint.path().stem().string();
  std::replace_if(
      stem.begin(), stem.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  const std::string key = PackedFingerprint(checkpoint, options.weights) +
                          std::filesystem::absolute(checkpoint.path()).lexically_normal().string();
  return options.packed_cache_dir / fmt::format("{}-{}-{:016x}.whinchat",
                                                stem.substr(0, 80),
                                                ModeName(options.weights),
                                                HashFnv1a(key));
}

std::unique_ptr<ModelWeights> BindWeights(const Checkpoint& checkpoint,
                                          const ModelConfig& config,
                                          const ModelOptions& options,
                                          ThreadPool* pool) {
  auto weights = std::make_unique<ModelWeights>();
  weights->layers.resize(static_cast<size_t>(config.num_layers));
  WeightMap map(checkpoint.format(), config.head_dim, weights.get());
  FindArchitecture(config.architecture)->map_weights(config, &map);

  const bool use_file = !options.packed_cache_dir.empty();
  const std::filesystem::path path = use_file ? PackedFilePath(checkpoint, options) : "";
  const std::string fingerprint = PackedFingerprint(checkpoint, options.weights);
  const nlohmann::json config_json = ToJson(config);
  const auto bind_to_file = [&] {
    return use_file &&
           BindToExistingFile(
               path, map.specs(), config_json, fingerprint, options.weights, weights.get());
  };
  if (!bind_to_file()) {
    const std::vector<WeightSource> sources = FindSources(checkpoint, map.specs(), options.weights);
    const bool is_written =
        use_file && PackToFile(path, sources, fingerprint, config_json, options, pool);
    if (!is_written || !bind_to_file()) {
      PackToMemory(sources, options, pool, weights.get());
    }
  }
  if (config.tie_word_embeddings) {
    weights->lm_head = weights->embed_tokens;
  }
  return weights;
}

}  // namespace whinchat
