/* How many processors there are: control groups of both versions, each in a folder that stands for the machine. */
#include "service/base/cpus.h"

#include "tests/unit/service/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

/* A file of the machine, with its folders. */
static void put(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *at = strchr(name + strlen(root) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(name, 0755);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static void begin(const char *groups)
{
    snprintf(root, sizeof root, "gnomon-cpus-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
    put("/proc/self/cgroup", groups);
}

static double end_of(double (*look)(const char *))
{
    char   command[128];
    double count = look(root);
    snprintf(command, sizeof command, "rm -rf %s", root);
    CU_ASSERT_EQUAL(system(command), 0);
    return count;
}

static double end(void)
{
    return end_of(cpus_count);
}

static void test_none(void)
{
    double all = cpus_count("/nowhere");
    CU_ASSERT_TRUE(all >= 1);
    begin("0::/user.slice\n");
    put("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    CU_ASSERT_EQUAL(end(), all);
    begin("7:cpuset:/a\n3:cpu,cpuacct:/a\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu.max", "10000 100000\n"); // of a version that it is not in
    CU_ASSERT_EQUAL(end(), all);
    begin("nonsense\n5:cpu\n0::/b\n");
    put("/sys/fs/cgroup/b/cpu.max", "12 0\n");
    CU_ASSERT_EQUAL(end(), all);
}

/* The tightest of a group and those above it counts. */
static void test_second_version(void)
{
    begin("0::/system.slice/gnomon.service\n");
    put("/sys/fs/cgroup/system.slice/gnomon.service/cpu.max", "80000 100000\n");
    CU_ASSERT_EQUAL(end(), 0.8);
    begin("0::/system.slice/gnomon.service\n");
    put("/sys/fs/cgroup/system.slice/gnomon.service/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/system.slice/cpu.max", "25000 50000\n");
    CU_ASSERT_EQUAL(end(), 0.5);
}

/* In a container what is mounted is its own group, whatever path it has outside. */
static void test_first_version(void)
{
    begin("4:cpu,cpuacct:/docker/0123456789ab\n2:cpuset:/\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "35000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
    CU_ASSERT_EQUAL(end(), 0.7);
    begin("4:cpuacct:/x\n3:cpu:/x\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "30000\n");
    CU_ASSERT_TRUE(end() >= 1); // no period: no quota
}

static void test_memory(void)
{
    double all = memory_there_is("/nowhere");
    CU_ASSERT_TRUE(all >= 1 << 28);
    begin("0::/system.slice/gnomon.service\n");
    put("/sys/fs/cgroup/system.slice/gnomon.service/memory.max", "max\n");
    put("/sys/fs/cgroup/system.slice/memory.max", "73400320\n");
    put("/sys/fs/cgroup/system.slice/cpu.max", "25000 50000\n");
    CU_ASSERT_EQUAL(end_of(memory_there_is), 73400320);
    begin("4:memory:/docker/0123456789ab\n2:cpuset:/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CU_ASSERT_EQUAL(end_of(memory_there_is), all);
}

CU_TestInfo suite_cpus[] = {
    {"no quota", test_none},
    {"control groups of version 2", test_second_version},
    {"control groups of version 1", test_first_version},
    {"memory", test_memory},
    CU_TEST_INFO_NULL,
};
