/* See process_stats.h.  proc(5) has the fields. */
#include "service/base/process_stats.h"

#include "service/base/clock.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Reads the numbers behind the program's name, which may have anything in it. */
static void read_stat(struct process_stats *out)
{
    char               text[1024] = "";
    FILE              *file = fopen("/proc/self/stat", "r");
    size_t             length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    const char        *rest = strrchr(text, ')');
    unsigned long      user, system, bytes;
    unsigned long long start;
    long               pages;
    if (file != NULL)
        fclose(file);
    if (length == 0 || rest == NULL ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %llu %lu %ld",
               &user, &system, &start, &bytes, &pages) != 5)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    out->cpu_seconds = (double)(user + system) / ticks;
    out->virtual_bytes = (double)bytes;
    out->resident_bytes = (double)pages * (double)sysconf(_SC_PAGESIZE);
    out->started_seconds = 1e-3 * (double)(clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME)) + (double)start / ticks;
}

/* Without the descriptor that looks. */
static double count_files(void)
{
    DIR   *folder = opendir("/proc/self/fd");
    double count = -1;
    if (folder == NULL)
        return NAN;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

void process_stats(struct process_stats *out)
{
    struct rlimit files;
    *out = (struct process_stats){.cpu_seconds = NAN,
                                  .resident_bytes = NAN,
                                  .virtual_bytes = NAN,
                                  .started_seconds = NAN,
                                  .open_files = NAN,
                                  .most_files = NAN};
    read_stat(out);
    out->open_files = count_files();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->most_files = files.rlim_cur == RLIM_INFINITY ? (double)INFINITY : (double)files.rlim_cur;
}

void disk_stats(const char *file, struct disk_stats *out)
{
    struct stat    status;
    struct statvfs disk;
    *out = (struct disk_stats){.file_bytes = NAN, .free_bytes = NAN, .all_bytes = NAN};
    if (stat(file, &status) == 0)
        out->file_bytes = (double)status.st_size;
    if (statvfs(file, &disk) != 0)
        return;
    out->free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    out->all_bytes = (double)disk.f_blocks * (double)disk.f_frsize;
}
