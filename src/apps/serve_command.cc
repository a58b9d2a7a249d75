// SPDX-License-Identifier: Apache-2.0
// `whinchat serve`: the OpenAI-compatible server. The port answers 503 while the model loads.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apps/commands.h"
#include "apps/model_flags.h"
#include "base/error.h"
#include "hub/model_store.h"
#include "server/server.h"

namespace whinchat::apps {
namespace {

struct ServeFlags {
  ModelFlags model;
  ServerOptions server;
  // vLLM's flags that mean nothing here, or only one thing: accepted, and said.
  int tensor_parallel_size = 1;
  bool enable_auto_tool_choice = false;
  std::string tool_call_parser;
  std::string reasoning_parser;
  std::string kv_cache_dtype = "auto";
};

void AddServerFlags(CLI::App* command, ServerOptions* server) {
  command->add_option("--host", server->host, "0.0.0.0 answers other machines too");
  command->add_option("--port", server->port, "0 takes any free port");
  command->add_option("--served-model-name",
                      server->served_model_names,
                      "Names in the API; the first is in answers");
  command->add_option("--api-key", server->api_keys, "Key that clients must send; may be repeated");
  command->add_option("--allowed-origins",
                      server->allowed_origins,
                      "Web pages that may call this beside localhost's; '*' is any");
  command->add_option("--max-connections", server->max_connections)->check(CLI::Range(1, 1 << 20));
}

void AddVllmFlags(CLI::App* command, ServeFlags* flags) {
  command->add_option("--tensor-parallel-size", flags->tensor_parallel_size, "Only 1 here");
  command->add_flag("--enable-auto-tool-choice", flags->enable_auto_tool_choice, "Always on here");
  command->add_option(
      "--tool-call-parser", flags->tool_call_parser, "Accepted; the model's own form is read");
  command->add_option(
      "--reasoning-parser", flags->reasoning_parser, "Accepted; thoughts are always split off");
  command->add_option("--kv-cache-dtype", flags->kv_cache_dtype, "auto or int8: it is int8");
}

void CheckVllmFlags(const ServeFlags& flags) {
  if (flags.tensor_parallel_size != 1) {
    ThrowError(ErrorCode::kUnsupported,
               "--tensor-parallel-size {} is not supported: one process uses one machine's cores",
               flags.tensor_parallel_size);
  }
  if (flags.kv_cache_dtype != "auto" && flags.kv_cache_dtype != "int8") {
    ThrowError(ErrorCode::kUnsupported,
               "--kv-cache-dtype {} is not supported: the KV cache is int8 (auto)",
               flags.kv_cache_dtype);
  }
}

// Everything the model's name may be called in a request beside the served names.
std::vector<std::string> ModelAliases(const ServeFlags& flags) {
  std::vector<std::string> aliases = {ResolveModel(flags.model.model).name};
  if (!flags.model.model.empty()) {
    aliases.push_back(flags.model.model);
  }
  return aliases;
}

void Log(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

int Serve(ServeFlags flags) {
  CheckVllmFlags(flags);
  flags.server.version = WHINCHAT_VERSION;
  flags.server.log = Log;
  flags.server.default_chat_template_kwargs = ParseTemplateKwargs(flags.model);
  flags.server.model_aliases = ModelAliases(flags);
  // Declared before the server, so that it outlives it.
  std::unique_ptr<TextGenerator> generator;
  HttpServer server(flags.server);
  if (flags.server.host != "127.0.0.1" && flags.server.host != "localhost" &&
      flags.server.host != "::1" && flags.server.api_keys.empty()) {
    Log("warning: open to other machines without a key; --api-key sets one");
  }
  // The model loads beside the server, which answers 503 until it is there.
  std::exception_ptr load_error;
  std::thread loader([&] {
    try {
      generator = LoadGenerator(flags.model);
      server.SetGenerator(generator.get());
      Log(fmt::format("{}\nready: {}/v1", generator->Describe(), server.url()));
    } catch (...) {
      load_error = std::current_exception();
      server.Stop();
    }
  });
  const int exit_code = server.Run();
  loader.join();
  if (load_error) {
    std::rethrow_exception(load_error);
  }
  return exit_code;
}

}  // namespace

void AddServeCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("serve", "Serve OpenAI's API");
  auto flags = std::make_shared<ServeFlags>();
  AddModelFlags(command, &flags->model);
  AddServerFlags(command, &flags->server);
  AddVllmFlags(command, flags.get());
  command->callback([flags, exit_code] { *exit_code = Serve(*flags); });
}

}  // namespace whinchat::apps
