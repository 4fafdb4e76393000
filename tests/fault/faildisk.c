/* Preloaded into the server by the tests `disk_fails`, `calls`, `ready`, `migration`, `backup`, `clock` and
 * `shared`: makes calls on the store's files fail, ends the process at one of them, and sets the wall clock.  FAIL_FILE names a
 * file that the test maps too (struct plan); FAIL_BOOT one with the id of another boot, so that it is on another machine.  The
 * calls are told apart by the name of the open file, so nothing has to be remembered. */
#define _GNU_SOURCE /* RTLD_NEXT, off64_t */
#include "tests/fault/plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>

enum call {
    CALL_READ = 1,
    CALL_WRITE = 2,
    CALL_SYNC = 4,
    CALL_TRUNCATE = 8,
    CALL_NAME = 16, /* rename, unlink */
    CALL_OPEN = 32,
    CALL_MAP = 64,
    CALL_LOCK = 128,
    CALL_RANDOM = 256, /* of no file: of FILE_FOLDER */
    CALL_ROOM = 512,   /* statvfs */
    CALL_UNLOCK = 1024
};
enum file {
    FILE_STORE = 1,
    FILE_JOURNAL = 2,
    FILE_FOLDER = 4 /* any */,
    FILE_BACKUP = 8,
    FILE_WITNESS = 16,
    FILE_INDEX = 32 /* of the journal, which is shared memory */
};
enum act { ACT_NONE, ACT_KILL, ACT_KILL_HALFWAY, ACT_FAIL };
enum { STEPS_MAX = 4096 };

struct plan {
    _Atomic int64_t calls, files;    /* which fail: sums of the above; 0: none */
    _Atomic int64_t error;           /* with this errno; -1: they do not come back until they do not fail any more */
    _Atomic int64_t failed;          /* how many did */
    _Atomic int64_t ahead_s;         /* the wall clock, over the system's */
    _Atomic int64_t steps;           /* calls so far that change something */
    _Atomic int64_t at, act;         /* which of them, from 1, and what becomes of it */
    uint16_t        what[STEPS_MAX]; /* call + 32 * file of each */
    /* of these calls on these files, counted from 1: which one fails; negative: that one and all later ones */
    _Atomic int64_t some_calls, some_files, nth, counted;
};
static struct plan *plan;

__attribute__((constructor)) static void open_plan(void)
{
    plan = plan_map(sizeof *plan);
}

static int file_named(const char *name)
{
    return strcmp(name, "/gnomon.db") == 0                ? FILE_STORE
           : strcmp(name, "/gnomon.db-wal") == 0          ? FILE_JOURNAL
           : strncmp(name, "/gnomon.db.before-", 18) == 0 ? FILE_BACKUP
           : strstr(name, ".copy") != NULL                ? FILE_BACKUP
           : strcmp(name, "/gnomon.db.part") == 0         ? FILE_BACKUP
           : strncmp(name, "/gnomon.witness", 15) == 0    ? FILE_WITNESS
           : strcmp(name, "/gnomon.db-shm") == 0          ? FILE_INDEX
                                                          : 0;
}

static int file_of(int fd)
{
    char    link[64], path[512];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if ((length = readlink(link, path, sizeof path - 1)) <= 0)
        return 0;
    path[length] = '\0';
    const char *name = strrchr(path, '/');
    struct stat own;
    if (name == NULL || fstat(fd, &own) != 0)
        return 0;
    if (S_ISDIR(own.st_mode))
        return FILE_FOLDER;
    return file_named(name);
}

/* Counts it; true: it is the one that fails.  halfway: does half of it, NULL when it has no half. */
static bool is_step(enum call call, int file, void (*halfway)(void *arg), void *arg)
{
    if (plan == NULL || call == CALL_READ || call > CALL_NAME || file == 0 || file > FILE_WITNESS)
        return false;
    int64_t step = ++plan->steps;
    if (step < STEPS_MAX)
        plan->what[step] = (uint16_t)((int)call + 32 * file);
    if (step != plan->at || plan->act == ACT_NONE)
        return false;
    if (plan->act == ACT_KILL_HALFWAY && halfway != NULL)
        halfway(arg);
    if (plan->act != ACT_FAIL)
        raise(SIGKILL);
    return true;
}

static bool is_nth(enum call call, int file)
{
    if (plan == NULL || (plan->some_calls & call) == 0 || (plan->some_files & file) == 0)
        return false;
    int64_t count = ++plan->counted, nth = plan->nth;
    return nth > 0 ? count == nth : nth < 0 && count >= -nth;
}

static bool fails(enum call call, int file, void (*halfway)(void *arg), void *arg)
{
    bool is_asked = is_step(call, file, halfway, arg) || is_nth(call, file);
    if (!is_asked && (plan == NULL || (plan->calls & call) == 0 || (plan->files & file) == 0))
        return false;
    plan->failed++;
    errno = (int)plan->error;
    while (plan->error < 0 && (plan->calls & call) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return errno > 0;
}

/* The function that this one hides. */
#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name))

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset)
{
    return fails(CALL_READ, plan == NULL ? 0 : file_of(fd), NULL, NULL)
               ? -1
               : REAL("pread64", ssize_t, int, void *, size_t, off64_t)(fd, bytes, length, offset);
}

struct piece {
    int         fd;
    const void *bytes;
    size_t      length;
    off64_t     offset;
};

static void write_half(void *arg)
{
    const struct piece *piece = arg;
    REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t)
    (piece->fd, piece->bytes, piece->length / 2, piece->offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset)
{
    struct piece piece = {fd, bytes, length, offset};
    return fails(CALL_WRITE, plan == NULL ? 0 : file_of(fd), write_half, &piece)
               ? -1
               : REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t)(fd, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    return pwrite64(fd, bytes, length, offset);
}

int fdatasync(int fd)
{
    return fails(CALL_SYNC, plan == NULL ? 0 : file_of(fd), NULL, NULL) ? -1 : REAL("fdatasync", int, int)(fd);
}

int fsync(int fd)
{
    return fails(CALL_SYNC, plan == NULL ? 0 : file_of(fd), NULL, NULL) ? -1 : REAL("fsync", int, int)(fd);
}

int ftruncate64(int fd, off64_t length)
{
    return fails(CALL_TRUNCATE, plan == NULL ? 0 : file_of(fd), NULL, NULL)
               ? -1
               : REAL("ftruncate64", int, int, off64_t)(fd, length);
}

static int file_at(const char *path)
{
    const char *name = strrchr(path, '/');
    return plan == NULL || name == NULL ? 0 : file_named(name);
}

int unlink(const char *path)
{
    return fails(CALL_NAME, file_at(path), NULL, NULL) ? -1 : REAL("unlink", int, const char *)(path);
}

int statvfs(const char *path, struct statvfs *out)
{
    return fails(CALL_ROOM, file_at(path), NULL, NULL)
               ? -1
               : REAL("statvfs", int, const char *, struct statvfs *)(path, out);
}

int rename(const char *from, const char *to)
{
    return fails(CALL_NAME, file_at(to), NULL, NULL) ? -1 : REAL("rename", int, const char *, const char *)(from, to);
}

static const char *place_of(const char *path)
{
    const char *boot = getenv("FAIL_BOOT");
    return boot != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? boot : path;
}

/* flags say whether there is a mode. */
static mode_t mode_of(int flags, va_list list)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return fails(CALL_OPEN, file_at(path), NULL, NULL) ? -1
                                                       : REAL("open64", int, const char *, int, ...)(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    if (fails(CALL_OPEN, file_at(path), NULL, NULL))
        return -1;
    return REAL("open", int, const char *, int, ...)(place_of(path), flags, mode);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset)
{
    return fails(CALL_MAP, plan == NULL || fd < 0 ? 0 : file_of(fd), NULL, NULL)
               ? MAP_FAILED
               : REAL("mmap64", void *, void *, size_t, int, int, int, off64_t)(at, length, protection, flags, fd,
                                                                                offset);
}

int fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    bool      is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK;
    enum call call = is_lock && ((struct flock *)argument)->l_type == F_UNLCK ? CALL_UNLOCK : CALL_LOCK;
    return is_lock && fails(call, plan == NULL ? 0 : file_of(fd), NULL, NULL)
               ? -1
               : REAL("fcntl64", int, int, int, ...)(fd, command, argument);
}

int getentropy(void *out, size_t length)
{
    return fails(CALL_RANDOM, FILE_FOLDER, NULL, NULL) ? -1 : REAL("getentropy", int, void *, size_t)(out, length);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*_Atomic real)(clockid_t, struct timespec *); // asked for often, and before open_plan too
    if (real == NULL)
        real = REAL("clock_gettime", int, clockid_t, struct timespec *);
    int result = real(clock, now);
    if (result == 0 && plan != NULL && clock == CLOCK_REALTIME)
        now->tv_sec += plan->ahead_s;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec own;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &own);
    *now = (struct timeval){.tv_sec = own.tv_sec, .tv_usec = own.tv_nsec / 1000};
    return result;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}
