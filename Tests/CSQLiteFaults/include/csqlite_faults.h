#pragma once

// A VFS of SQLite that behaves like the default one, except that chosen calls for files below a folder `faulty` fail. One
// per process.

/// Makes it the default; has no effect the second time. Returns an SQLite result code.
int csqlite_faults_register(void);

/// Makes call number `first`, counted from 1, fail, and the `count - 1` calls after it; with a `first` of 0 none fails.
/// The count of calls restarts at 0.
void csqlite_faults_plan(int first, int count);

/// The number of calls for such files since the plan was set, failed ones included.
int csqlite_faults_calls(void);
