/* SPDX-License-Identifier: MIT */
/* test_cgroup.c -- memory limits of version 1, version 2 and none, from folders made
 * here. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t.h"
#include "tool/target/proc/cgroup.h"

static char top[64];

static void
put(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", top, path);
	for (char *c = full + strlen(top) + 1; *c != '\0'; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(full, 0700);
		*c = '/';
	}
	f = fopen(full, "w");
	T_CHECK(f != NULL);
	if (f != NULL) {
		fputs(text, f);
		fclose(f);
	}
}

static struct cgroup_memory
ask(int pid)
{
	char proc[96], sys[96];
	struct cgroup_memory c;

	snprintf(proc, sizeof proc, "%s/proc", top);
	snprintf(sys, sizeof sys, "%s/sys", top);
	cgroup_memory_at(proc, sys, pid, &c);
	return c;
}

static void
begin(void)
{
	snprintf(top, sizeof top, "/tmp/seep-test-cgroup.XXXXXX");
	T_CHECK(mkdtemp(top) != NULL);
	put("proc/meminfo", "MemTotal:       8192000 kB\nMemFree: 1 kB\n"
			    "MemAvailable:   6144000 kB\n");
}

static void
end(void)
{
	char command[96];

	snprintf(command, sizeof command, "rm -rf '%s'", top);
	T_EQ(system(command), 0);
}

T_TEST(version_2_takes_the_smallest_on_the_way_up)
{
	struct cgroup_memory c;

	begin();
	put("proc/7/cgroup", "0::/app/web\n");
	put("sys/app/web/memory.max", "max\n");
	put("sys/app/memory.max", "1073741824\n");
	put("sys/app/memory.current", "800000000\n");
	put("sys/app/memory.stat", "anon 5\ninactive_file 300000000\nactive_file 9\n");
	c = ask(7);
	T_EQ(c.limit_bytes, 1073741824);
	T_EQ(c.used_bytes,
	     500000000); /* what the kernel would drop first is not counted */
	T_STR(c.group, "/app");
	T_CHECK(!c.machine);
	end();
}

T_TEST(version_1)
{
	struct cgroup_memory c;

	begin();
	put("proc/7/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n");
	put("sys/memory/docker/abc/memory.limit_in_bytes", "2147483648\n");
	put("sys/memory/docker/abc/memory.usage_in_bytes", "123456789\n");
	put("sys/memory/docker/abc/memory.stat", "inactive_file 7\n"
						 "total_inactive_file 23456789\n");
	put("sys/memory/memory.limit_in_bytes", "9223372036854771712\n");
	c = ask(7);
	T_EQ(c.limit_bytes, 2147483648);
	T_EQ(c.used_bytes, 100000000);
	T_STR(c.group, "/docker/abc");
	end();
}

T_TEST(no_limit_is_the_machine)
{
	struct cgroup_memory c;

	begin();
	put("proc/7/cgroup", "0::/app\n");
	put("sys/app/memory.max", "max\n");
	c = ask(7);
	T_CHECK(c.machine);
	T_EQ(c.limit_bytes, 8192000LL * 1024);
	T_EQ(c.used_bytes, 2048000LL * 1024);
	T_STR(c.group, "");
	c = ask(8); /* no such process */
	T_CHECK(c.machine);
	end();
}

T_TEST(in_a_container)
{
	struct cgroup_memory c;

	/* The path is of the host and does not exist here; the mount's root has the
	 * limit. */
	begin();
	put("proc/7/cgroup", "0::/kubepods/pod1/c2\n");
	put("sys/memory.max", "536870912\n");
	put("sys/memory.current", "4096\n");
	c = ask(7);
	T_EQ(c.limit_bytes, 536870912);
	T_EQ(c.used_bytes, 4096);
	T_STR(c.group, "/");
	end();
}

/* Processes of a group and of those below it, with 41 + 43 + 47 = 131. */
static int
sum_of(const char *path, size_t *ret_n)
{
	struct procfs_pids pids = {0};
	struct err e = {0};
	char sys[96];
	int sum = 0, r;

	snprintf(sys, sizeof sys, "%s/sys", top);
	r = cgroup_processes_at(sys, path, &pids, &e);
	for (size_t i = 0; i < pids.len; i++)
		sum += pids.data[i];
	*ret_n = pids.len;
	vec_done(&pids);
	return r < 0 ? r : sum;
}

T_TEST(processes_version_2)
{
	size_t n;

	begin();
	put("sys/cgroup.procs", "1\n2\n");
	put("sys/system.slice/api.service/cgroup.procs", "41\n43\n0\n");
	put("sys/system.slice/api.service/below/cgroup.procs", "47\n");
	put("sys/other/system.slice/api.service/cgroup.procs", "53\n");
	T_EQ(sum_of("system.slice/api.service", &n), 131);
	T_EQ(n, 3);
	T_EQ(sum_of("/system.slice/api.service", &n), 131);
	T_EQ(sum_of("/system.slice/api.service/below", &n), 47);
	T_EQ(sum_of("system.slice/none", &n), -ENOENT);
	T_EQ(n, 0);
}

/* Two hierarchies that have it, in which a process is counted once; one that has not; and
 * hybrid. */
T_TEST(processes_version_1)
{
	size_t n;

	begin();
	put("sys/memory/docker/abc/cgroup.procs", "41\n43\n");
	put("sys/pids/docker/abc/cgroup.procs", "43\n47\n");
	put("sys/cpu/docker/cgroup.procs", "53\n");
	put("sys/unified/user.slice/cgroup.procs", "59\n");
	T_EQ(sum_of("docker/abc", &n), 131);
	T_EQ(n, 3);
	T_EQ(sum_of("/user.slice", &n), 59);
	T_EQ(sum_of("abc", &n), -ENOENT);
}

T_MAIN()
