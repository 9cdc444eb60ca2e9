#pragma once

// A VFS of SQLite that does what the default one does, but in which chosen calls fail. One at a time in a process.

/// Its name, once registered.
extern const char *const csqlite_faults_name;

/// Registers it; harmless the second time. An SQLite result code.
int csqlite_faults_register(void);

/// From now on call number `first`, counted from 1, fails, and `count - 1` calls after it; a `first` of 0: none does. The
/// count begins anew.
void csqlite_faults_plan(int first, int count);

/// How many calls were made since the plan, failed ones included.
int csqlite_faults_calls(void);
