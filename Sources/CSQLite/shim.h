#pragma once

// SQLite for Swift, which can neither call variadic functions nor read constants that are casts.

#include <sqlite3.h>

// Binds a copy of the bytes.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// Has SQLite not count the memory it takes, which it does under a lock. Before anything else of SQLite is used.
static inline void csqlite_configure(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Takes from the file what it could do by itself: no trigger runs, no function of the schema is trusted, and nobody may
// write the schema but through its own statements. Longer values than `longest` bytes are an error.
static inline void csqlite_harden(sqlite3 *connection, int longest) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, longest);
}
