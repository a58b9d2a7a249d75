// SPDX-License-Identifier: Apache-2.0
// Hundreds of random requests over block pools small enough to force preemption, from several
// threads, with shared prefixes, salts, priorities and cancels: each answer must be the one the
// model gives alone, and every block must come back.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine/engine.h"
#include "engine/fake_model.h"

namespace whinchat {
namespace {

constexpr int kNumThreads = 3;

struct Job {
  Request request;
  FakeText text = FakeText::kRandom;
  int cancel_after = -1;  // tokens; -1: never
};

SamplingParams RandomSampling(std::mt19937& random) {
  SamplingParams params;
  params.seed = random();
  params.temperature = random() % 3 == 0 ? 0.0F : 0.8F;
  params.top_k = random() % 2 == 0 ? 0 : 10;
  params.top_p = random() % 2 == 0 ? 1.0F : 0.9F;
  params.presence_penalty = random() % 2 == 0 ? 0.0F : 0.8F;
  params.repetition_penalty = random() % 2 == 0 ? 1.0F : 1.2F;
  params.max_tokens = 1 + static_cast<int>(random() % 90);
  params.min_tokens = static_cast<int>(random() % 20) % (params.max_tokens + 1);
  if (random() % 2 == 0) {
    params.stop_token_ids = {static_cast<TokenId>(random() % 60)};
  }
  return params;
}

// Prompts continue one of four texts from a random place, so that whole and partial blocks match.
Job RandomJob(std::mt19937& random, int max_model_len) {
  Job job;
  const auto text = static_cast<uint32_t>(random() % 4);
  std::vector<TokenId> prompt = MakePrompt(static_cast<int>(random() % 120), text);
  const std::vector<TokenId> own =
      MakePrompt(1 + static_cast<int>(random() % 60), static_cast<uint32_t>(random() % 30));
  prompt.insert(prompt.end(), own.begin(), own.end());
  prompt.resize(std::min(prompt.size(), static_cast<size_t>(max_model_len) - 1));
  job.request.prompt = std::move(prompt);
  job.request.sampling = RandomSampling(random);
  job.request.priority = static_cast<int>(random() % 3);
  job.request.cache_salt = random() % 3 == 0 ? "salt" : "";
  job.cancel_after = random() % 5 == 0 ? static_cast<int>(random() % 30) : -1;
  return job;
}

// Repetitive text is for speculation.
FakeText TextOf(uint32_t seed) {
  return seed % 2 == 0 ? FakeText::kRandom : FakeText::kRepetitive;
}

EngineOptions RandomOptions(std::mt19937& random, uint32_t seed) {
  EngineOptions options;
  options.num_kv_blocks = 7 + static_cast<int>(random() % 8);
  options.max_model_len = 210;
  options.max_num_seqs = 2 + static_cast<int>(random() % 7);
  options.max_num_batched_tokens = options.max_num_seqs + static_cast<int>(random() % 120);
  options.max_num_waiting = 10'000;
  options.enable_prefix_caching = seed % 4 != 3;
  options.num_speculative_tokens = TextOf(seed) == FakeText::kRandom ? 0 : 1 + seed % 9;
  return options;
}

// Reads a stream to its end and cancels it on the way if the job says so.
void FinishJob(const Job& job, TokenStream& stream, int max_model_len) {
  Answer answer;
  if (job.cancel_after == 0) {
    stream.Cancel();
  }
  while (const std::optional<TokenOutput> output = stream.Pop()) {
    if (output->has_token) {
      answer.tokens.push_back(output->token.token_id);
    }
    if (static_cast<int>(answer.tokens.size()) == job.cancel_after) {
      stream.Cancel();
    }
    answer.end = *output;
  }
  ExpectedAnswer expected = AnswerAlone(job.request, max_model_len, job.text);
  if (job.cancel_after >= 0 && answer.end.finish_reason == FinishReason::kCancelled) {
    ASSERT_LE(answer.tokens.size(), expected.tokens.size());
    expected.tokens.resize(answer.tokens.size());
    EXPECT_EQ(answer.tokens, expected.tokens);
    return;
  }
  ExpectAnswer(answer, expected);
}

void RunJobs(Engine& engine, const std::vector<Job>& jobs, size_t thread_idx) {
  std::vector<std::pair<const Job*, std::shared_ptr<TokenStream>>> open;
  const auto finish_all = [&] {
    for (const auto& [job, stream] : open) {
      FinishJob(*job, *stream, engine.options().max_model_len);
    }
    open.clear();
  };
  for (size_t i = thread_idx; i < jobs.size(); i += kNumThreads) {
    open.emplace_back(&jobs[i], engine.Submit(jobs[i].request));
    if (open.size() == 1 + i % 12) {  // so that requests also arrive while others run
      finish_all();
    }
  }
  finish_all();
}

TEST(EngineRandom, EveryAnswerEqualsTheModelAlone) {
  constexpr int kNumJobs = 60;
  constexpr uint32_t kNumRounds = 40;
  EngineStats total;
  for (uint32_t seed = 0; seed < kNumRounds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const EngineOptions options = RandomOptions(random, seed);
    FakeModelControl control;
    control.before_forward = [&control] {
      if (control.num_forwards < 50) {  // lets the submitting threads overlap
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    };
    Engine engine(MakeFakeModel(&control, TextOf(seed)), options);
    std::vector<Job> jobs;
    for (int i = 0; i < kNumJobs; ++i) {
      jobs.push_back(RandomJob(random, engine.options().max_model_len));
      jobs.back().text = TextOf(seed);
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kNumThreads; ++i) {
      threads.emplace_back([&, i] { RunJobs(engine, jobs, i); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_TRUE(engine.Drain(60));
    const EngineStats stats = engine.Stats();
    EXPECT_EQ(stats.num_kv_blocks_used, 0);
    EXPECT_EQ(stats.num_finished, static_cast<uint64_t>(kNumJobs));
    EXPECT_EQ(control.num_violations, 0);
    total.num_preemptions += stats.num_preemptions;
    total.num_cached_tokens += stats.num_cached_tokens;
    total.num_generation_tokens += stats.num_generation_tokens;
    total.num_draft_tokens += stats.num_draft_tokens;
    total.num_accepted_tokens += stats.num_accepted_tokens;
  }
  // The test must reach what it is for.
  EXPECT_GT(total.num_preemptions, 100U);
  EXPECT_GT(total.num_cached_tokens, 10'000U);
  EXPECT_GT(total.num_generation_tokens, 50'000U);
  EXPECT_GT(total.num_accepted_tokens, 1'000U);
  EXPECT_GT(total.num_draft_tokens - total.num_accepted_tokens, 1'000U);  // rejected
  std::printf(
      "%llu preemptions, %llu cached prompt tokens, %llu generated tokens, %llu of %llu "
      "drafted ones accepted\n",
      static_cast<unsigned long long>(total.num_preemptions),
      static_cast<unsigned long long>(total.num_cached_tokens),
      static_cast<unsigned long long>(total.num_generation_tokens),
      static_cast<unsigned long long>(total.num_accepted_tokens),
      static_cast<unsigned long long>(total.num_draft_tokens));
}

}  // namespace
}  // namespace whinchat
