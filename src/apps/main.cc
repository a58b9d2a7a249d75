// SPDX-License-Identifier: Apache-2.0
// Entry of the program: parses the command line and turns every Error into one clear sentence.
#include <CLI/CLI.hpp>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>

#include "apps/commands.h"
#include "base/error.h"

namespace {

constexpr int kExitUsage = 2;

int RunProgram(int argc, char** argv) {
  CLI::App app("Whinchat makes small language models answer fast on small machines.", "whinchat");
  app.set_version_flag("--version", std::string("whinchat ") + WHINCHAT_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  whinchat::apps::AddRunCommand(&app, &exit_code);
  whinchat::apps::AddServeCommand(&app, &exit_code);
  whinchat::apps::AddBenchCommand(&app, &exit_code);
  whinchat::apps::AddWhichCommand(&app, &exit_code);
  whinchat::apps::AddIsasCommand(&app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  // Line editing needs the terminal's character set; a bare "C" locale still gets UTF-8.
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  // Beyond a limit on file sizes a write then fails with a reason, and does not end the program.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return RunProgram(argc, argv);
  } catch (const whinchat::Error& error) {
    std::fprintf(stderr, "whinchat: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "whinchat: out of memory; a smaller --max-model-len needs less\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "whinchat: internal error: %s\n", error.what());
  }
  return 1;
}
