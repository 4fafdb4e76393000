/* See cpus.h.
 * Of version 2 the quota is in cpu.max, "max 100000" or "150000 100000"; of version 1 in two files, quota -1 for none.
 * In a container the path that /proc shows may be that of the host, while what is mounted begins with the container's own
 * group: so every part of the path is tried down to none of it, and what is not there says nothing. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "service/base/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, PATH_BYTES = 2 * LINE_BYTES };

/* Reads the first two numbers of a file; returns how many it has. */
static int read_numbers(const char *root, const char *folder, const char *name, double numbers[2])
{
    char path[PATH_BYTES], line[LINE_BYTES];
    snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    int count = fgets(line, sizeof line, file) == NULL ? 0 : sscanf(line, "%lf %lf", &numbers[0], &numbers[1]);
    fclose(file);
    return count;
}

/* The limit of a control group, if it is less than least. */
typedef double least_of(const char *root, const char *folder, double least);

/* The processors of a single group, whose folder is given. */
static double least_cpus(const char *root, const char *folder, double least)
{
    double quota[2] = {0}, unused[2];
    bool   has_quota = read_numbers(root, folder, "cpu.max", quota) == 2;
    if (!has_quota && read_numbers(root, folder, "cpu.cfs_quota_us", quota) == 1) {
        has_quota = read_numbers(root, folder, "cpu.cfs_period_us", unused) == 1;
        quota[1] = has_quota ? unused[0] : 0;
    }
    has_quota = has_quota && quota[0] > 0 && quota[1] > 0;
    return has_quota && quota[0] / quota[1] < least ? quota[0] / quota[1] : least;
}

/* A group of version 1 without a limit has one of 2^63 bytes or so. */
static double least_memory(const char *root, const char *folder, double least)
{
    double limit[2];
    bool   has_limit = read_numbers(root, folder, "memory.max", limit) >= 1 ||
                     read_numbers(root, folder, "memory.limit_in_bytes", limit) >= 1;
    return has_limit && limit[0] > 0 && limit[0] < least ? limit[0] : least;
}

/* A limited resource, and the folder of its groups in version 1. */
struct thing {
    least_of   *least_of_group;
    const char *controller, *mount;
};
static const struct thing cpu = {.least_of_group = least_cpus, .controller = "cpu", .mount = "/cpu"},
                          memory = {.least_of_group = least_memory, .controller = "memory", .mount = "/memory"};

/* The least limit of a group and all groups above it. */
static double least_of_path(const struct thing *thing, const char *root, const char *mount, char *path, double least)
{
    char folder[PATH_BYTES];
    for (;;) {
        snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", mount, path);
        least = thing->least_of_group(root, folder, least);
        char *last = strrchr(path, '/');
        if (last == NULL)
            return least;
        *last = '\0';
    }
}

static bool has_word(const char *list, const char *end, const char *word)
{
    for (const char *at = list; at < end; at += strcspn(at, ",:") + 1)
        if (strncmp(at, word, strlen(word)) == 0 && strchr(",:", at[strlen(word)]) != NULL)
            return true;
    return false;
}

/* A line of /proc/self/cgroup: "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1. */
static double least_of_line(const struct thing *thing, const char *root, char *line, double least)
{
    char *list = strchr(line, ':');
    char *path = list == NULL ? NULL : strchr(list + 1, ':');
    if (path == NULL)
        return least;
    path[1 + strcspn(path + 1, "\n")] = '\0';
    if (path == list + 1)
        return least_of_path(thing, root, "", path + 1, least);
    return has_word(list + 1, path, thing->controller) ? least_of_path(thing, root, thing->mount, path + 1, least)
                                                       : least;
}

static double processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (double)count : 1;
}

static double least_of_all(const struct thing *thing, const char *root, double least)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        least = least_of_line(thing, root, line, least);
    if (file != NULL)
        fclose(file);
    return least;
}

double cpus_count(const char *root)
{
    return least_of_all(&cpu, root, processors());
}

double memory_there_is(const char *root)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return least_of_all(&memory, root, pages > 0 && bytes > 0 ? (double)pages * (double)bytes : 1 << 30);
}
