#pragma once

// What the process and its threads are allowed, and called.

/// The system's text for an error number, untranslated and constant; NULL for an unknown number.
const char *clinux_error_text(int code);

/// The variable `index` of the environment, `NAME=value`; NULL behind the last.
const char *clinux_environment(int index);

/// Has the kernel write no core dump of this process, and let only root read its memory and the files of /proc that tell of
/// it. Becoming another user may take that back.
void clinux_make_undumpable(void);

/// 1 unless that is in force.
int clinux_is_dumpable(void);

/// Names the calling thread, as `top -H` shows it; cut after 15 bytes.
void clinux_thread_set_name(const char *name);

/// How many CPUs the calling thread may run on, or -errno.
int clinux_affinity_count(void);

/// Sends one datagram to the Unix socket at `path`, or with an `@` in front to the abstract socket of that name, without
/// ever waiting. 0 or -errno.
int clinux_notify(const char *path, const char *message);

/// Gives memory that was freed, by whatever thread, back to the system.
void clinux_return_free_memory(void);

/// Unmaps the pages of code and constants, of the executable and its libraries, that were read from their files so far. Those
/// still needed are mapped again as they are touched, from the kernel's cache of the files.
void clinux_release_file_pages(void);
