/* Preloaded into the server by the test `power`: records, in their order, all calls that change the store's files, with
 * their bytes, so that the disk can be made again as it might be when the power goes after any of them.
 * FAIL_FILE names a file that the test maps too (struct plan); the record goes to that name and ".record".  Each call is
 * made and recorded under one lock: what is recorded before a sync is what the sync is good for. */
#define _GNU_SOURCE /* RTLD_NEXT, off64_t */
#include "tests/fault/plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum call { CALL_WRITE, CALL_SYNC, CALL_TRUNCATE, CALL_MAKE, CALL_UNLINK, CALL_SYNC_FOLDER, CALL_NAME };

struct plan {
    _Atomic int64_t bytes; /* of the record so far */
};
struct record {
    uint8_t  call, file, nothing[2];
    uint32_t length; /* of the bytes behind it */
    uint64_t offset; /* of a truncation: the new length */
};
static struct plan    *plan;
static int             out = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void open_plan(void)
{
    char        path[4096];
    const char *name = getenv("FAIL_FILE");
    plan = plan_map(sizeof *plan);
    if (plan == NULL || name == NULL)
        return;
    snprintf(path, sizeof path, "%s.record", name);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Its number in the record; -1: none of the store's. */
static int file_named(const char *path)
{
    static const char *const names[] = {"gnomon.db", "gnomon.db-wal", "gnomon.witness", "gnomon.db-journal",
                                        "gnomon.witness.part"};
    const char              *slash = strrchr(path, '/');
    for (int i = 0; i < 5; i++)
        if (out >= 0 && strcmp(slash == NULL ? path : slash + 1, names[i]) == 0)
            return i;
    return -1;
}

static int file_of(int fd)
{
    char    link[64], path[4096];
    ssize_t length;
    if (out < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if ((length = readlink(link, path, sizeof path - 1)) <= 0)
        return -1;
    path[length] = '\0';
    return file_named(path);
}

static void add(enum call call, int file, const void *bytes, size_t length, uint64_t offset)
{
    struct record record = {.call = (uint8_t)call, .file = (uint8_t)file, .length = (uint32_t)length, .offset = offset};
    int           kept = errno;
    if (write(out, &record, sizeof record) != sizeof record ||
        (length > 0 && write(out, bytes, length) != (ssize_t)length))
        abort();
    plan->bytes += (int64_t)(sizeof record + length);
    errno = kept;
}

/* The function that this one hides. */
#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name))

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset)
{
    int file = file_of(fd);
    pthread_mutex_lock(&lock);
    ssize_t done = REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t)(fd, bytes, length, offset);
    if (file >= 0 && done > 0)
        add(CALL_WRITE, file, bytes, (size_t)done, (uint64_t)offset);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return pwrite64(fd, bytes, length, offset);
}

static int sync_with(const char *name, int fd)
{
    struct stat about;
    int         file = file_of(fd);
    bool        is_folder = out >= 0 && fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
    pthread_mutex_lock(&lock);
    int result = REAL(name, int, int)(fd);
    if (result == 0 && (file >= 0 || is_folder))
        add(is_folder ? CALL_SYNC_FOLDER : CALL_SYNC, is_folder ? 0 : file, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int fd)
{
    return sync_with("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_with("fsync", fd);
}

int ftruncate64(int fd, off64_t length)
{
    int file = file_of(fd);
    pthread_mutex_lock(&lock);
    int result = REAL("ftruncate64", int, int, off64_t)(fd, length);
    if (file >= 0 && result == 0)
        add(CALL_TRUNCATE, file, NULL, 0, (uint64_t)length);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t length)
{
    return ftruncate64(fd, length);
}

int unlink(const char *path)
{
    int file = file_named(path);
    pthread_mutex_lock(&lock);
    int result = REAL("unlink", int, const char *)(path);
    if (file >= 0 && result == 0)
        add(CALL_UNLINK, file, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

/* offset: the number of the file that has the name from now on. */
int rename(const char *from, const char *to)
{
    int source = file_named(from), target = file_named(to);
    pthread_mutex_lock(&lock);
    int result = REAL("rename", int, const char *, const char *)(from, to);
    if (source >= 0 && target >= 0 && result == 0)
        add(CALL_NAME, source, NULL, 0, (uint64_t)target);
    pthread_mutex_unlock(&lock);
    return result;
}

static int open_with(const char *name, const char *path, int flags, mode_t mode)
{
    int file = (flags & O_CREAT) != 0 ? file_named(path) : -1;
    if (file < 0)
        return REAL(name, int, const char *, int, ...)(path, flags, mode);
    pthread_mutex_lock(&lock);
    bool is_new = access(path, F_OK) != 0;
    int  fd = REAL(name, int, const char *, int, ...)(path, flags, mode);
    if (fd >= 0 && is_new)
        add(CALL_MAKE, file, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_with("open64", path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_with("open", path, flags, mode);
}
