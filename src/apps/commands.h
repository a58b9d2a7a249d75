// SPDX-License-Identifier: Apache-2.0
// The subcommands of the program: flags and wiring only. Each adds itself to the command line and,
// when chosen, leaves its exit code in *exit_code.
#pragma once

#include <CLI/CLI.hpp>

namespace whinchat::apps {

void AddRunCommand(CLI::App* app, int* exit_code);    // chat in the terminal, or one answer
void AddServeCommand(CLI::App* app, int* exit_code);  // the OpenAI-compatible server
void AddBenchCommand(CLI::App* app, int* exit_code);  // prefill and decode speed
void AddWhichCommand(CLI::App* app, int* exit_code);  // where a model is
void AddIsasCommand(CLI::App* app, int* exit_code);   // what WHINCHAT_ISA may be

}  // namespace whinchat::apps
