// SPDX-License-Identifier: Apache-2.0
// `whinchat isas`: what WHINCHAT_ISA may be set to on this machine, lowest first.
#include <cstdio>
#include <string>

#include "apps/commands.h"
#include "kernels/cpu_features.h"

namespace whinchat::apps {

void AddIsasCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("isas", "List the instruction sets this machine has");
  command->callback([exit_code] {
    for (const kernels::Isa isa : kernels::AvailableIsas()) {
      std::puts(std::string(kernels::IsaName(isa)).c_str());
    }
    *exit_code = 0;
  });
}

}  // namespace whinchat::apps
