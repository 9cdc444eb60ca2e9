#pragma once

// Limits, privileges and names of the process and its threads.

/// The system's text for an error number, untranslated and constant; NULL for an unknown number.
const char *clinux_error_text(int code);

/// The variable at `index` of the environment, `NAME=value`; NULL after the last.
const char *clinux_environment(int index);

/// Makes the kernel write no core dump of this process, and let only root read its memory and the related files of
/// /proc. Becoming another user may undo that.
void clinux_make_undumpable(void);

/// Whether core dumps are allowed: 1 unless `clinux_make_undumpable` is in force, else 0.
int clinux_is_dumpable(void);

/// Sets the name of the calling thread, as `top -H` shows it; cut after 15 bytes.
void clinux_thread_set_name(const char *name);

/// Makes SIGURG do nothing but interrupt the system call in which its thread waits.
void clinux_make_threads_interruptible(void);

/// The number of CPUs on which the calling thread may run, or -errno.
int clinux_affinity_count(void);

/// Sends one datagram to the Unix socket at `path`, or, with a leading `@`, to the abstract socket of that name; never
/// waits. Returns 0 or -errno.
int clinux_notify(const char *path, const char *message);

/// Returns memory freed by any thread to the system.
void clinux_return_free_memory(void);

/// Unmaps the pages of code and constants, of the executable and its libraries, that were read from their files so far.
/// Those still needed are mapped again when they are accessed, from the kernel's page cache.
void clinux_release_file_pages(void);
