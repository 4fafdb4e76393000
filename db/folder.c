/* See folder.h. */
#include "db/folder.h"

#include "db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 40, LOCK_PAUSE_MS = 50, PATH_BYTES = 4096, STICKY = 01000 };

/* So that a new name in it is there after a power loss.  Not every file system can do that for a folder (EINVAL), and
 * not every folder that we may write in may be opened (EACCES). */
enum status folder_sync(const char *folder, struct error *err)
{
    int  fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_good = fd >= 0 ? fsync(fd) == 0 || errno == EINVAL : errno == EACCES;
    if (!is_good)
        error_set(err, STATUS_INTERNAL, "path", "", "cannot make what is new in %.120s last: %s", folder,
                  strerror(errno));
    if (fd >= 0)
        close(fd);
    return is_good ? STATUS_OK : STATUS_INTERNAL;
}

enum status folder_make(const char *folder, struct error *err)
{
    char parent[PATH_BYTES];
    if (mkdir(folder, 0700) != 0)
        return errno == EEXIST
                   ? STATUS_OK
                   : error_set(err, STATUS_INVALID, "path", "", "cannot make %.150s: %s", folder, strerror(errno));
    snprintf(parent, sizeof parent, "%s/..", folder);
    enum status status = folder_sync(parent, err);
    if (status != STATUS_OK)
        rmdir(folder); // the next start tries again
    return status;
}

/* Others who may write in it may put another file, or another socket, in the place of the store's; what is in its files they
 * cannot read.  A volume's root belongs to root, and its group to those who use it, by whoever mounted it. */
static enum status check_writers(const char *folder, struct error *err)
{
    char        parent[PATH_BYTES];
    struct stat own, above;
    snprintf(parent, sizeof parent, "%s/..", folder);
    if (stat(folder, &own) != 0)
        return error_set(err, STATUS_INVALID, "path", "", "cannot look at %.150s: %s", folder, strerror(errno));
    bool is_volume =
        own.st_uid == 0 && (own.st_mode & STICKY) == 0 && stat(parent, &above) == 0 && above.st_dev != own.st_dev;
    if ((own.st_mode & (S_IWGRP | S_IWOTH)) == 0 || is_volume)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "open_folder", "",
                     "%.80s has mode %04o: others may have put files there. Once that is ruled out: chmod 700 %.80s",
                     folder, (unsigned)own.st_mode & 07777u, folder);
}

enum status folder_claim(const char *folder, int *claim, struct error *err)
{
    char path[PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/gnomon.lock", folder) >= sizeof path)
        return error_set(err, STATUS_INVALID, "path", "", "the path of the data folder is too long");
    TRY(folder_make(folder, err));
    TRY(check_writers(folder, err));
    *claim = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*claim < 0)
        return error_set(err, STATUS_INVALID, "path", "", "cannot open %.150s: %s", path, strerror(errno));
    for (int tries = 0; flock(*claim, LOCK_EX | LOCK_NB) != 0; tries++) { // a killed process may not be gone yet
        if (tries == LOCK_TRIES)
            return error_set(err, STATUS_BUSY, "locked", "",
                             "a server or another command uses %.150s: stop it, or wait", folder);
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_MS * 1000000}, NULL);
    }
    return STATUS_OK;
}

void folder_release(int claim)
{
    if (claim >= 0)
        close(claim);
}

bool db_is_postgres(const char *place)
{
    return strncmp(place, "postgresql://", 13) == 0 || strncmp(place, "postgres://", 11) == 0;
}

/* A store in a file of the folder would be hidden by the database. */
enum status folder_check_database(const char *folder, const char *database, struct error *err)
{
    char path[PATH_BYTES];
    if (database == NULL)
        return STATUS_OK;
    if (!db_is_postgres(database))
        return error_set(err, STATUS_INVALID, "database", "",
                         "not a database: postgresql://HOST/NAME, or USER and @ before HOST");
    snprintf(path, sizeof path, "%.4000s/gnomon.db", folder);
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "store_exists", "",
                     "there is a store in %.150s, and a database is named: give another folder", folder);
}
