/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/dmi.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/sys/sysfs.h"
#include "probes/harness/known.h"
#include "probes/host_state/host_state.h"
#include "probes/host_state/pci.h"

enum { MEMINFO_MAX = 64 * 1024, NAMES_MAX = 512 };

/* --- devices by name: lost if gone -------------------------------------------------- */

/* The result for one kind of device. */
struct count {
	const char *check; /* "inventory.gpus" */
	const char *list;  /* its key in the saved state: "gpus" */
	const char *words; /* "GPUs" */
	size_t n;	   /* number of devices */
	double value;	   /* the same, or their bytes */
	json_t *params;	   /* or NULL; the sample takes ownership */
	size_t n_deaf;	   /* listed, but not answering on the bus */
};

/* "pci:0000:1b:00.0 (10de:2330), ...", truncated to what a note can hold. */
static void name_lost(struct strbuf *names, const struct known *lost, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)strbuf_printf(names, "%s%s (%s)", i ? ", " : "", lost[i].id, lost[i].model);
}

static int emit_lost(struct host *h, struct sample *s, const struct count *c,
		     const struct known *lost, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	CLEANUP(freep) char *state = paths_state();

	name_lost(&names, lost, n);
	s->code = xstrdup("device-lost");
	return host_emit(h, s, FINDING_FATAL,
			 "%zu %s lost, seen in an earlier run and absent now: %s; if it was "
			 "removed on purpose, delete %s/probe/host-state.json",
			 n, c->words, strbuf_text(&names), state);
}

/* Compare the devices of one kind with the known ones, and emit their count. Both are saved. */
static int check_known(struct host *h, const struct count *c, const struct known *now, size_t n_now)
{
	CLEANUP(freep) struct known *lost = xcalloc(KNOWN_MAX, sizeof(*lost));
	const json_t *past = json_object_get(h->past, c->list);
	size_t n_lost = known_lost(past, now, n_now, lost, KNOWN_MAX);
	struct sample s = host_sample(c->check, "host", c->value);

	s.params = c->params;
	(void)json_object_set_new(h->next, c->list, known_encode(now, n_now, lost, n_lost));
	if (n_lost)
		return emit_lost(h, &s, c, lost, n_lost);
	if (c->n_deaf == 0)
		return host_emit(h, &s, FINDING_NOTE, "%zu %s", c->n, c->words);
	s.code = xstrdup("no-answer");
	return host_emit(h, &s, FINDING_FAIL,
			 "%zu %s are listed by the kernel but do not answer on the bus", c->n_deaf,
			 c->words);
}

/* What cannot be read now is neither present nor lost: keep what was known. */
static void keep_known(struct host *h, const char *list)
{
	json_t *past = json_object_get(h->past, list);

	if (past)
		(void)json_object_set(h->next, list, past);
}

/* --- PCI devices ----------------------------------------------------------------- */

/*
 * If the configuration space of a function reads as all ones, the kernel still lists it but it is
 * no longer on the bus. (That of virtual functions always reads so.)
 */
static bool answers(const struct pci_device *d)
{
	unsigned char config[PCI_CONFIG_MAX];

	return pci_config(d, config) < 2 || config[0] != 0xff || config[1] != 0xff;
}

/* NICs that a hypervisor plugs and unplugs at will: counted, but never lost. */
static bool comes_and_goes(const struct pci_device *d)
{
	enum { VIRTIO = 0x1af4, AMAZON = 0x1d0f, ENA = 0xec00 };

	return d->vendor == VIRTIO || (d->vendor == AMAZON && (d->device & 0xff00) == ENA);
}

static void know(const struct pci_device *d, struct known *ret)
{
	(void)snprintf(ret->id, sizeof(ret->id), "pci:%s", d->address);
	(void)snprintf(ret->model, sizeof(ret->model), "%04x:%04x", d->vendor & 0xffff,
		       d->device & 0xffff);
}

static int check_pci(struct host *h, struct count c, bool (*wanted)(const struct pci_device *d))
{
	CLEANUP(freep) struct known *now = xcalloc(h->pci->n + 1, sizeof(*now));
	size_t n_known = 0, i;

	if (!h->pci->readable) {
		keep_known(h, c.list);
		return 0;
	}
	for (i = 0; i < h->pci->n; i++) {
		const struct pci_device *d = &h->pci->devices[i];

		if (!wanted(d))
			continue;
		if (!answers(d)) {
			c.n_deaf++;
			continue;
		}
		c.n++;
		if (!comes_and_goes(d))
			know(d, &now[n_known++]);
	}
	c.value = (double)c.n;
	return check_known(h, &c, now, n_known);
}

/* --- processors and memory ---------------------------------------------------------- */

static int count_list(const char *path)
{
	CLEANUP(freep) bool *set = xcalloc(SYS_CPUS_MAX, sizeof(bool));
	CLEANUP(freep) char *line = sys_line("%s", path);

	return line ? cpulist_parse(line, set) : -1;
}

static int check_cpus(struct host *h)
{
	int online = count_list("/sys/devices/system/cpu/online");
	int possible = count_list("/sys/devices/system/cpu/possible");
	struct sample s;

	if (online < 0)
		return 0;
	s = host_sample("inventory.cpus", "host", online);
	return host_emit(h, &s, FINDING_NOTE, "%d online of %d possible", online,
			 possible < 0 ? online : possible);
}

static int check_numa_nodes(struct host *h)
{
	int n = count_list("/sys/devices/system/node/online");
	struct sample s;

	if (n < 0)
		return 0;
	s = host_sample("inventory.numa_nodes", "host", n);
	return host_emit(h, &s, FINDING_NOTE, "%d NUMA nodes online", n);
}

/* Without the DMI table: what the kernel has, without memory reserved by firmware or kernel. */
static int check_meminfo(struct host *h)
{
	CLEANUP(freep) char *path = sys_path("/proc/meminfo");
	CLEANUP(freep) char *text = NULL;
	const char *total;
	struct sample s;
	double bytes;

	keep_known(h, "dimms");
	if (file_read(AT_FDCWD, path, MEMINFO_MAX, &text, NULL, NULL) < 0)
		return 0;
	total = strstr(text, "MemTotal:");
	if (!total)
		return 0;
	bytes = (double)strtoull(total + strlen("MemTotal:"), NULL, 10) * 1024;
	s = host_sample("inventory.dimm_bytes", "host", bytes);
	s.params = json_pack("{s:s, s:s}", "unit", "bytes", "source", "meminfo");
	return host_emit(h, &s, FINDING_NOTE,
			 "%.1f GiB of memory (MemTotal: the DIMMs cannot be read here)",
			 bytes / (1 << 30));
}

static int check_dimms(struct host *h)
{
	CLEANUP(freep) struct dmi_module *modules = xcalloc(DMI_MODULES_MAX, sizeof(*modules));
	CLEANUP(freep) struct known *now = xcalloc(DMI_MODULES_MAX, sizeof(*now));
	CLEANUP(freep) char *path = sys_path("/sys/firmware/dmi/tables/DMI");
	CLEANUP(freep) char *table = NULL;
	struct count c = { .check = "inventory.dimm_bytes", .list = "dimms", .words = "DIMMs" };
	uint64_t bytes = 0;
	size_t len = 0, n = 0, i;

	if (file_read(AT_FDCWD, path, DMI_TABLE_MAX, &table, &len, NULL) == 0)
		n = dmi_modules((const unsigned char *)table, len, modules, DMI_MODULES_MAX);
	if (n == 0)
		return check_meminfo(h);
	for (i = 0; i < n; i++) {
		bytes += modules[i].bytes;
		(void)snprintf(now[i].id, sizeof(now[i].id), "dimm:%s", modules[i].name);
		/* Another size in the same slot is a replaced DIMM, not a lost one. */
		(void)snprintf(now[i].model, sizeof(now[i].model), "DIMM");
	}
	c.n = n;
	c.value = (double)bytes;
	c.params = json_pack("{s:s, s:s}", "unit", "bytes", "source", "dmi");
	return check_known(h, &c, now, n);
}

/* --- RDMA ports --------------------------------------------------------------------- */

static void count_ports(const char *device, unsigned *ret_n, unsigned *ret_active)
{
	CLEANUP(freep) char *dir = xasprintf("/sys/class/infiniband/%s/ports", device);
	CLEANUP(strv_freep) char **ports = sys_list(dir, "");
	size_t i;

	for (i = 0; ports && ports[i]; i++) {
		CLEANUP(freep) char *state = sys_line("%s/%s/state", dir, ports[i]);

		*ret_n += 1;
		*ret_active += state && starts_with(state, "4:");
	}
}

static int check_ports(struct host *h)
{
	CLEANUP(strv_freep) char **classes = sys_list("/sys/class", "");
	CLEANUP(strv_freep) char **devices = sys_list("/sys/class/infiniband", "");
	unsigned n = 0, active = 0;
	struct sample s;
	size_t i;

	if (!classes)
		return 0;
	for (i = 0; devices && devices[i]; i++)
		count_ports(devices[i], &n, &active);
	s = host_sample("inventory.ports_active", "host", active);
	return host_emit(h, &s, FINDING_NOTE, "%u of %u RDMA ports active", active, n);
}

static int check_gpus(struct host *h)
{
	const struct count c = { .check = "inventory.gpus", .list = "gpus", .words = "GPUs" };

	return check_pci(h, c, pci_is_gpu);
}

static int check_nics(struct host *h)
{
	const struct count c = { .check = "inventory.nics", .list = "nics", .words = "NICs" };

	return check_pci(h, c, pci_is_nic);
}

int host_inventory(struct host *h, struct err *err UNUSED)
{
	static int (*const areas[])(struct host * h) = {
		check_cpus, check_numa_nodes, check_dimms, check_gpus, check_nics, check_ports,
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(areas) && r == 0; i++)
		r = areas[i](h);
	return r;
}
