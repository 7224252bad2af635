#pragma once

#include "cli/arguments.h"

namespace onward::cli {

/// What the program's exit code says: done, refused (the user's model or options), our own mistake.
enum ExitCode : int { kDone = 0, kRefused = 1, kBug = 2 };

/// Thrown by a command that has said what is wrong and only needs to end.
struct Exit {
  ExitCode code;
};

// Each adds one command; its file has the same name.
void add_check(CommandLine& line);
void add_eval(CommandLine& line);
void add_example(CommandLine& line);
void add_export(CommandLine& line);
void add_help(CommandLine& line);
void add_import_weights(CommandLine& line);
void add_lower(CommandLine& line);
void add_ops(CommandLine& line);
void add_predict(CommandLine& line);
void add_prepare(CommandLine& line);
void add_run(CommandLine& line);
void add_show(CommandLine& line);
void add_testset(CommandLine& line);
void add_train(CommandLine& line);
void add_upgrade(CommandLine& line);
void add_version(CommandLine& line);

}  // namespace onward::cli
