#pragma once

// A VFS of SQLite that behaves like the default one, except that chosen calls fail. One per process.

/// Its name when registered.
extern const char *const csqlite_faults_name;

/// Registers it; has no effect the second time. Returns an SQLite result code.
int csqlite_faults_register(void);

/// Makes call number `first`, counted from 1, fail, and the `count - 1` calls after it; with a `first` of 0 none fails.
/// The count of calls restarts at 0.
void csqlite_faults_plan(int first, int count);

/// The number of calls since the plan was set, failed ones included.
int csqlite_faults_calls(void);
