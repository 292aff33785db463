/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/doctor/doctor_host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agents/doctor/doctor.h"
#include "agents/run/sku_host.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/net/token_file.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum {
	SPOOL_MANY = 100, /* waiting reports: half a day of passive runs */
};

#define FREE_LEAST (UINT64_C(64) * 1024 * 1024) /* bytes: enough for a full run with its logs */
#define RUN_OLD_US (25 * USEC_PER_HOUR)		/* as in `assay admit` */

void doctor_host_switch(struct doctor *d)
{
	CLEANUP(freep) char *dir = paths_conf();
	CLEANUP(freep) char *path = xasprintf("%s/disabled", dir);

	if (access(path, F_OK) == 0)
		checklist_say(&d->list, CHECK_BAD, "switch",
			      "%s exists, so nothing is measured or sent: rm %s", path, path);
}

void doctor_host_config(struct doctor *d)
{
	CLEANUP(freep) char *dir = paths_conf();
	CLEANUP(freep) char *usual = xasprintf("%s/assayd.yaml", dir);
	const char *path = d->config_path ? d->config_path : usual;
	struct err err = ERR_INIT;
	int r;

	if (access(path, F_OK) != 0) {
		checklist_say(
			&d->list, CHECK_BAD, "config",
			"%s: %s: join a controller (assayctl join-command prints the line), or "
			"write it",
			path, strerror(errno));
		return;
	}
	r = assayd_config_read(path, &d->config, &err);
	if (r == 0)
		r = assayd_config_check_files(&d->config, &err);
	if (r == 0)
		r = assayd_config_check_patterns(&d->config, &err);
	d->askable = r == 0;
	if (r < 0) {
		checklist_say(&d->list, CHECK_BAD, "config", "%s", err.msg);
		return;
	}
	d->askable = !streq(d->config.node, "localhost") &&
		     !starts_with(d->config.node, "localhost.");
	if (!d->askable)
		checklist_say(&d->list, CHECK_BAD, "name",
			      "other hosts may be called %s too: set node in %s", d->config.node,
			      path);
	else
		checklist_say(&d->list, CHECK_OK, "config", "%s: %s reports to %s", path,
			      d->config.node, d->config.controller);
}

void doctor_host_token(struct doctor *d)
{
	struct token_file token = { .path = d->config.token_file };
	struct err err = ERR_INIT;
	struct stat st;

	if (!d->askable || !token.path)
		return;
	d->askable = token_file_refresh(&token, &err) == 0;
	if (!d->askable)
		checklist_say(&d->list, CHECK_BAD, "token", "%s", err.msg);
	else if (stat(token.path, &st) == 0 && st.st_mode & S_IROTH)
		checklist_say(&d->list, CHECK_WARN, "token",
			      "%s: readable by everyone on this host: chmod 600 %s", token.path,
			      token.path);
	else
		checklist_say(&d->list, CHECK_OK, "token", "%s", token.path);
	token.path = NULL; /* owned by the configuration */
	token_file_release(&token);
}

void doctor_host_state(struct doctor *d)
{
	CLEANUP(freep) char *dir = paths_state();
	struct statvfs fs;
	struct stat st;
	uint64_t left;

	if (stat(dir, &st) != 0) {
		checklist_say(&d->list, CHECK_WARN, "state", "%s: %s: the first run creates it",
			      dir, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode) || access(dir, W_OK) != 0 || statvfs(dir, &fs) != 0) {
		checklist_say(&d->list, CHECK_BAD, "state",
			      "%s: cannot be written, so nothing is kept: %s", dir,
			      S_ISDIR(st.st_mode) ? "run this as root, or remount it read-write"
						  : "it is not a directory");
		return;
	}
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (left < FREE_LEAST || (fs.f_files > 0 && fs.f_favail == 0))
		checklist_say(&d->list, CHECK_BAD, "state",
			      "%s: the disk is full (%" PRIu64
			      " MiB left): reports are dropped: free some space",
			      dir, left / (1024 * 1024));
	else
		checklist_say(&d->list, CHECK_OK, "state", "%s", dir);
}

static bool has_suffix(const char *name, const char *suffix)
{
	const size_t n = strlen(name), k = strlen(suffix);

	return n >= k && streq(name + n - k, suffix);
}

/* Number of files in a directory with that suffix; 0 if it does not exist. */
static size_t count_files(const char *path, const char *suffix)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += has_suffix(entry->d_name, suffix);
	if (dir)
		(void)closedir(dir);
	return n;
}

void doctor_host_spool(struct doctor *d)
{
	CLEANUP(freep) char *state = paths_state();
	CLEANUP(freep) char *spool = xasprintf("%s/spool", state);
	CLEANUP(freep) char *bad = xasprintf("%s/bad", spool);
	const size_t waiting = count_files(spool, ".json"), aside = count_files(bad, ".json");

	if (aside > 0)
		checklist_say(&d->list, CHECK_WARN, "reports",
			      "%zu were refused for good and set aside, each with the reason in a "
			      "file next to it: %s",
			      aside, bad);
	if (waiting > SPOOL_MANY)
		checklist_say(&d->list, CHECK_WARN, "reports", "%zu waiting in %s to be sent",
			      waiting, spool);
	else if (aside == 0)
		checklist_say(&d->list, CHECK_OK, "reports", "%zu waiting to be sent", waiting);
}

void doctor_host_probes(struct doctor *d)
{
	static const char *const probes[] = { "host-state", "gpu-state", "rnic-state",
					      "gemm",	    "memory",	 "loopback" };
	CLEANUP(freep) char *dir = paths_probes();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/assay-probe-%s", dir, probes[i]);

		if (access(path, X_OK) == 0)
			continue;
		checklist_say(
			&d->list, CHECK_BAD, "probes",
			"%s: %s: install the whole suite again (assay list says what each needs)",
			path, strerror(errno));
		return;
	}
	checklist_say(&d->list, CHECK_OK, "probes", "%s", dir);
}

static bool can_load(const char *library)
{
	void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

	if (loaded)
		(void)dlclose(loaded);
	return loaded != NULL;
}

static void say_gpus(struct doctor *d, size_t n)
{
	static const struct {
		const char *library, *without;
	} needs[] = {
		{ "libnvidia-ml.so.1", "gpu-state reads nothing: install the NVIDIA driver" },
		{ "libcuda.so.1",
		  "gemm, memory and loopback skip the GPUs: install the NVIDIA driver" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		if (can_load(needs[i].library))
			continue;
		checklist_say(&d->list, CHECK_BAD, "gpus", "%zu GPU%s, and %s cannot be loaded: %s",
			      n, n == 1 ? "" : "s", needs[i].library, needs[i].without);
		return;
	}
	checklist_say(&d->list, CHECK_OK, "gpus", "%zu, and the driver's libraries can be loaded",
		      n);
}

void doctor_host_devices(struct doctor *d)
{
	CLEANUP(freep) char *infiniband = xasprintf("%s/sys/class/infiniband", paths_sysroot());
	CLEANUP(sku_models_release) struct sku_models models = { 0 };
	const size_t rnics = count_files(infiniband, "");

	sku_host_models(&models);
	if (models.gpus[0] && starts_with(models.gpus[0], "10de:"))
		say_gpus(d, models.n_gpus);
	else
		checklist_say(&d->list, CHECK_SKIPPED, "gpus", "no NVIDIA GPU on the PCI bus");
	if (rnics <= 2) /* "." and ".." */
		checklist_say(&d->list, CHECK_SKIPPED, "rnics", "none in /sys/class/infiniband");
	else if (!can_load("libibverbs.so.1"))
		checklist_say(
			&d->list, CHECK_BAD, "rnics",
			"libibverbs.so.1 cannot be loaded, so RDMA links are not measured: install "
			"rdma-core");
	else
		checklist_say(&d->list, CHECK_OK, "rnics", "%zu", rnics - 2);
}

/* Does `systemctl WORD UNIT --quiet` succeed? */
static bool systemctl_says(const char *word, const char *unit)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("systemctl", "systemctl", "--quiet", word, unit, NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* The units for which it does not, joined by spaces; "" if none. The caller frees it. */
static char *units_not(const char *word)
{
	static const char *const units[] = { "assayd.service", "assay-passive.timer",
					     "assay-quick.timer", "assay-full.timer" };
	char *names = xstrdup("");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		CLEANUP(freep) char *before = names;

		if (systemctl_says(word, units[i]))
			before = NULL;
		else
			names = xasprintf("%s%s%s", before, *before ? " " : "", units[i]);
	}
	return names;
}

void doctor_host_units(struct doctor *d)
{
	CLEANUP(freep) char *booted = xasprintf("%s/run/systemd/system", paths_sysroot());
	CLEANUP(freep) char *stopped = NULL;
	CLEANUP(freep) char *disabled = NULL;

	if (access(booted, F_OK) != 0) {
		checklist_say(&d->list, CHECK_SKIPPED, "units", "this host does not run systemd");
		return;
	}
	stopped = units_not("is-active");
	disabled = units_not("is-enabled");
	if (*stopped)
		checklist_say(&d->list, CHECK_BAD, "units", "not active: systemctl enable --now %s",
			      stopped);
	else if (*disabled)
		checklist_say(&d->list, CHECK_WARN, "units",
			      "active, but not enabled at boot: systemctl enable %s", disabled);
	else
		checklist_say(&d->list, CHECK_OK, "units", "assayd and the timers are active");
}

void doctor_host_runs(struct doctor *d)
{
	CLEANUP(freep) char *state = paths_state();
	CLEANUP(freep) char *path = xasprintf("%s/verdict.json", state);
	const uint64_t now_us = clock_real_us();
	char age[CLOCK_DURATION_SIZE];
	struct stat st;
	uint64_t at_us;

	if (stat(path, &st) != 0 && errno == ENOTDIR)
		return; /* already reported */
	if (stat(path, &st) != 0) {
		checklist_say(&d->list, CHECK_WARN, "runs",
			      "nothing has been measured yet: assay run --profile quick --report");
		return;
	}
	at_us = (uint64_t)st.st_mtim.tv_sec * USEC_PER_SEC;
	duration_format((now_us - MIN(at_us, now_us)) / USEC_PER_MIN * USEC_PER_MIN, age);
	if (at_us + RUN_OLD_US < now_us)
		checklist_say(&d->list, CHECK_WARN, "runs",
			      "the last one ended %s ago: assay run --profile quick --report", age);
	else if (at_us + USEC_PER_MIN < now_us)
		checklist_say(&d->list, CHECK_OK, "runs", "the last one ended %s ago", age);
	else
		checklist_say(&d->list, CHECK_OK, "runs", "the last one ended just now");
}
