// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>

#include "apps/commands.h"
#include "hub/model_store.h"

namespace whinchat::apps {

void AddWhichCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("which", "Print where a model is on this machine");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "Name or path (default: the default model)");
  command->callback([name, exit_code] {
    std::puts(ResolveModel(*name).path.c_str());
    *exit_code = 0;
  });
}

}  // namespace whinchat::apps
