#include "csqlite_faults.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static const char name[] = "faults";
// A part of the paths of the files on which calls fail.
static const char folder[] = "/faulty/";

static atomic_int calls;
static atomic_int first_failing;
static atomic_int failing;

/// Counts one call for a path, and returns whether it is to fail.
static int path_fails(const char *path) {
    if (!path || !strstr(path, folder)) return 0;
    int call = atomic_fetch_add(&calls, 1) + 1;
    int first = atomic_load(&first_failing);
    return first > 0 && call >= first && call - first < atomic_load(&failing);
}

/// A file of this VFS, followed in memory by the default VFS's own file.
struct file {
    sqlite3_file base;
    sqlite3_file *real;
    // Which SQLite does not free before it closes the file; null for a temporary one.
    const char *path;
};

static sqlite3_file *real(sqlite3_file *file) { return ((struct file *)file)->real; }

static int fails(sqlite3_file *file) { return path_fails(((struct file *)file)->path); }

static int file_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int file_read(sqlite3_file *file, void *buffer, int amount, sqlite3_int64 offset) {
    if (fails(file)) return SQLITE_IOERR_READ;
    return real(file)->pMethods->xRead(real(file), buffer, amount, offset);
}

static int file_write(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset) {
    if (fails(file)) {
        // As on a full disk: a part is written.
        if (amount > 1) real(file)->pMethods->xWrite(real(file), buffer, amount / 2, offset);
        return SQLITE_FULL;
    }
    return real(file)->pMethods->xWrite(real(file), buffer, amount, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return fails(file) ? SQLITE_IOERR_TRUNCATE : real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    return fails(file) ? SQLITE_IOERR_FSYNC : real(file)->pMethods->xSync(real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return fails(file) ? SQLITE_IOERR_FSTAT : real(file)->pMethods->xFileSize(real(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    return fails(file) ? SQLITE_IOERR_LOCK : real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }

static int file_check_reserved_lock(sqlite3_file *file, int *result) {
    return fails(file) ? SQLITE_IOERR_CHECKRESERVEDLOCK : real(file)->pMethods->xCheckReservedLock(real(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }

static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
    return fails(file) ? SQLITE_IOERR_SHMMAP : real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    if (!(flags & SQLITE_SHM_UNLOCK) && fails(file)) return SQLITE_IOERR_SHMLOCK;
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }

static int file_shm_unmap(sqlite3_file *file, int delete) {
    return real(file)->pMethods->xShmUnmap(real(file), delete);
}

static const sqlite3_io_methods methods = {
    2, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock,
    file_check_reserved_lock, file_control, file_sector_size, file_characteristics, file_shm_map, file_shm_lock,
    file_shm_barrier, file_shm_unmap, NULL, NULL,
};

static sqlite3_vfs *default_vfs(sqlite3_vfs *vfs) { return vfs->pAppData; }

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *given) {
    struct file *ours = (struct file *)file;
    ours->base.pMethods = NULL;
    if (path_fails(path)) return SQLITE_CANTOPEN;
    ours->path = path;
    ours->real = (sqlite3_file *)(ours + 1);
    int code = default_vfs(vfs)->xOpen(default_vfs(vfs), path, ours->real, flags, given);
    if (ours->real->pMethods) ours->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    return path_fails(path) ? SQLITE_IOERR_DELETE : default_vfs(vfs)->xDelete(default_vfs(vfs), path, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    return path_fails(path) ? SQLITE_IOERR_ACCESS : default_vfs(vfs)->xAccess(default_vfs(vfs), path, flags, result);
}

int csqlite_faults_register(void) {
    static sqlite3_vfs vfs;
    sqlite3_vfs *original = sqlite3_vfs_find(NULL);
    if (!original) return SQLITE_ERROR;
    if (sqlite3_vfs_find(name)) return SQLITE_OK;
    // Time, randomness and names are the default VFS's: they need no file.
    vfs = *original;
    vfs.iVersion = 2;
    vfs.szOsFile = (int)sizeof(struct file) + original->szOsFile;
    vfs.zName = name;
    vfs.pNext = NULL;
    vfs.pAppData = original;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    vfs.xAccess = vfs_access;
    return sqlite3_vfs_register(&vfs, 1);
}

void csqlite_faults_plan(int first, int count) {
    atomic_store(&first_failing, first);
    atomic_store(&failing, count);
    atomic_store(&calls, 0);
}

int csqlite_faults_calls(void) { return atomic_load(&calls); }
