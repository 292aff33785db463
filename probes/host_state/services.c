/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that the GPU fabric depends on: do they run, and which version is installed? A setting
 * that hosts are compared by. Whether GPUs are part of the fabric is checked by gpu-state.
 *
 * Sources: NVIDIA's user guides of Fabric Manager and IMEX (names, paths, `--version`); NVLSM is a
 * renamed OpenSM and prints its version likewise.
 */
#include "probes/host_state/services.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"
#include "lib/sys/sysfs.h"
#include "probes/harness/child.h"
#include "probes/host_state/pci.h"

#define VERSION_US (1 * USEC_PER_SEC)

enum { VERSION_SIZE = 32, OUTPUT_MAX = 4096, TEXT_SIZE = 64 };

static const struct service {
	const char *check;
	const char *command; /* as in /proc: at most 15 bytes */
	const char *path;
	const char *words;
	bool of_driver; /* its version must match the driver's */
} all_services[] = {
	{ "host.fabric_manager", "nv-fabricmanage", "/usr/bin/nv-fabricmanager",
	  "the fabric manager", true },
	{ "host.nvlsm", "nvlsm", "/opt/nvidia/nvlsm/sbin/nvlsm",
	  "the NVLink subnet manager (NVLSM)", false },
	{ "host.imex", "nvidia-imex", "/usr/bin/nvidia-imex", "IMEX", false },
};

/* Find the first word that looks like a version: a digit first, and a dot inside. */
static void find_version(const char *text, char ret[static VERSION_SIZE])
{
	static const char of_words[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_";

	while (*text) {
		const size_t n = strspn(text, of_words);

		if (isdigit((unsigned char)*text) && memchr(text, '.', n) && n < VERSION_SIZE) {
			(void)snprintf(ret, VERSION_SIZE, "%.*s", (int)n, text);
			return;
		}
		text += n;
		text += *text != '\0';
	}
}

/* Get the version from the installed program. */
static void read_version(const char *path, uint64_t deadline_us, char ret[static VERSION_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(freep) char *program = xstrdup(path);
	static char version[] = "--version";
	char *const argv[] = { program, version, NULL };

	ret[0] = '\0';
	if (child_read(argv, deadline_us, &text) >= 0)
		find_version(strbuf_text(&text), ret);
}

/* Find the running services; false if the processes of the host are not visible here. */
static bool find_running(bool ret_running[static ARRAY_SIZE(all_services)])
{
	CLEANUP(freep) char *second = sys_line("/proc/2/comm");
	CLEANUP(strv_freep) char **pids = NULL;
	size_t i, k;

	/* Process 2 of a host is kthreadd; in a container it is not. */
	if (!second || !streq(second, "kthreadd"))
		return false;
	pids = sys_list("/proc", "");
	for (i = 0; pids && pids[i]; i++) {
		CLEANUP(freep) char *command = NULL;

		if (!isdigit((unsigned char)pids[i][0]))
			continue;
		command = sys_line("/proc/%s/comm", pids[i]);
		for (k = 0; command && k < ARRAY_SIZE(all_services); k++)
			ret_running[k] = ret_running[k] || streq(command, all_services[k].command);
	}
	return true;
}

static int tell(struct host *h, const struct service *service, bool runs, bool installed,
		const char *version)
{
	CLEANUP(freep) char *driver = sys_line("/sys/module/nvidia/version");
	struct sample s = host_sample(service->check, "host", runs);
	char text[TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%s%s%s",
		       runs	   ? "runs"
		       : installed ? "does not run"
				   : "not installed",
		       *version ? ", " : "", version);
	s.params = json_pack("{s:s}", "setting", text);
	if (!service->of_driver || !runs || !*version || !driver || streq(driver, version))
		return host_emit(h, &s, FINDING_NOTE, "%s: %s", service->words, text);
	s.code = xstrdup("version-mismatch");
	return host_emit(h, &s, FINDING_INFO,
			 "the installed %s is %s but the driver is %s: it will not start again "
			 "until both match",
			 service->words, version, driver);
}

static bool has_nvidia_gpu(const struct pci_tree *pci)
{
	size_t i = 0;

	while (i < pci->n &&
	       !(pci_is_gpu(&pci->devices[i]) && pci->devices[i].vendor == PCI_VENDOR_NVIDIA))
		i++;
	return i < pci->n;
}

int services(struct host *h, struct err *err UNUSED)
{
	const uint64_t deadline_us = clock_mono_us() + VERSION_US;
	bool running[ARRAY_SIZE(all_services)] = { false };
	size_t i;
	int r = 0;

	if (!has_nvidia_gpu(h->pci) || !find_running(running))
		return 0;
	for (i = 0; i < ARRAY_SIZE(all_services) && r == 0; i++) {
		CLEANUP(freep)
		char *path = xasprintf("%s%s", paths_sysroot(), all_services[i].path);
		const bool installed = access(path, X_OK) == 0;
		char version[VERSION_SIZE] = "";

		if (installed)
			read_version(path, deadline_us, version);
		r = tell(h, &all_services[i], running[i], installed, version);
	}
	return r;
}
