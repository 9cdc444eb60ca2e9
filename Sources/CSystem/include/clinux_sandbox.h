#pragma once

// What the process gives up: capabilities and the file system, once it has started, or all that is outside of a folder.

#include <stdint.h>

/// Takes every capability from the calling thread, and forbids the process to gain any by executing a program. Returns
/// 0 or -errno.
int clinux_drop_capabilities(void);

/// A new set of Landlock rules, closed on exec: no program may be executed, and no file written, made or removed,
/// except below folders that are added to it. Reading is not restricted.
///
/// With `hides_abstract` Unix sockets with abstract names, of processes outside, cannot be connected to; signals cannot
/// be sent to processes outside in any case. Both need Linux 6.12. Returns the descriptor, or -errno: -ENOSYS or
/// -EOPNOTSUPP where the kernel has no Landlock.
int clinux_ruleset_create(int hides_abstract);

/// Lets files, folders and sockets be made, written and removed below a folder that exists. Returns 0 or -errno.
int clinux_ruleset_allow(int ruleset, const char *folder);

/// Puts the rules in force for the calling thread and those that it starts, for ever. Returns 0 or -errno.
int clinux_ruleset_enforce(int ruleset);

/// Opens a file below the folder `root`, which stands for `/`: no path and no link leads out of it. Closed on exec. Returns
/// the descriptor, or -errno: -ENOSYS before Linux 5.6.
int clinux_open_in_root(int root, const char *path, int flags);
