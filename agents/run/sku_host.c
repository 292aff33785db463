/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/sku_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/judge_files.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"
#include "lib/sys/state.h"

/* PCI base class and subclass (PCI Code and ID Assignment Specification). */
enum {
	PCI_NETWORK = 0x0200,
	PCI_INFINIBAND = 0x0207,
	PCI_OTHER_BRIDGE = 0x0680, /* NVSwitches, among others */
	PCI_DISPLAY = 0x03,	   /* base class */
	PCI_PROCESSING = 0x12,	   /* base class: processing accelerators */
	VENDOR_NVIDIA = 0x10de,
	VENDOR_AMD = 0x1002,
};

enum { CPUINFO_MAX = 16 * 1024 * 1024 };

struct files {
	char *names[SKU_FILES_MAX];
	size_t n;
};

static void files_release(struct files *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		free(f->names[i]);
}

/* Insert `id` into the sorted set unless it is there or the set is full. */
static void add_id(char **ids, const char *id)
{
	size_t n = strv_len(ids), at, i;

	for (at = 0; at < n && strcmp(ids[at], id) < 0; at++)
		;
	if (n >= SKU_IDS_MAX || (at < n && streq(ids[at], id)))
		return;
	for (i = n; i > at; i--)
		ids[i] = ids[i - 1];
	ids[at] = xstrdup(id);
}

static bool is_gpu(long long class, long long vendor)
{
	const long long base = class >> 16;

	return (base == PCI_DISPLAY || base == PCI_PROCESSING) &&
	       (vendor == VENDOR_NVIDIA || vendor == VENDOR_AMD);
}

static void add_device(int pci_fd, const char *address, struct sku_models *m)
{
	CLEANUP(freep) char *class_path = xasprintf("%s/class", address);
	CLEANUP(freep) char *vendor_path = xasprintf("%s/vendor", address);
	CLEANUP(freep) char *device_path = xasprintf("%s/device", address);
	long long class, vendor, device;
	char id[24];

	if (file_read_i64(pci_fd, class_path, &class) < 0 ||
	    file_read_i64(pci_fd, vendor_path, &vendor) < 0 ||
	    file_read_i64(pci_fd, device_path, &device) < 0)
		return;
	(void)snprintf(id, sizeof(id), "%04llx:%04llx", (unsigned long long)vendor & 0xffff,
		       (unsigned long long)device & 0xffff);
	if (is_gpu(class, vendor))
		add_id(m->gpus, id);
	m->n_gpus += is_gpu(class, vendor);
	if (class >> 8 == PCI_OTHER_BRIDGE && vendor == VENDOR_NVIDIA)
		add_id(m->switches, id);
	if (class >> 8 == PCI_NETWORK || class >> 8 == PCI_INFINIBAND)
		add_id(m->nics, id);
}

static void read_pci(struct sku_models *m)
{
	CLEANUP(closep) int fd = paths_open_sys("/sys/bus/pci/devices");
	CLEANUP(freep) char *path = xasprintf("%s/sys/bus/pci/devices", paths_sysroot());
	CLEANUP(closedirp) DIR *dir = opendir(path);
	const struct dirent *entry;

	while (fd >= 0 && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			add_device(fd, entry->d_name, m);
	}
}

/* A hypervisor sets a flag of every processor. */
static bool is_guest(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/cpuinfo", paths_sysroot());
	CLEANUP(freep) char *text = NULL;

	return file_read(AT_FDCWD, path, CPUINFO_MAX, &text, NULL, NULL) == 0 &&
	       strstr(text, " hypervisor");
}

static char *env_text(const json_t *env, const char *key)
{
	const char *text = json_string_value(json_object_get(env, key));

	return xstrdup(text ? text : "");
}

void sku_host_models(struct sku_models *ret)
{
	CLEANUP(json_freep) json_t *env = host_env();

	*ret = (struct sku_models){
		.product = env_text(env, "product"),
		.cpu = env_text(env, "cpu"),
		.gpus = xcalloc(SKU_IDS_MAX + 1, sizeof(char *)),
		.nics = xcalloc(SKU_IDS_MAX + 1, sizeof(char *)),
		.switches = xcalloc(SKU_IDS_MAX + 1, sizeof(char *)),
		.is_virtual = is_guest(),
	};
	read_pci(ret);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool sku_host_is_file(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > 5 && strcmp(name + len - 5, ".yaml") == 0;
}

static int list_files(const char *path, struct files *files, struct err *err)
{
	CLEANUP(closedirp) DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return err_errno(err, errno, "cannot read %s", path);
	while ((entry = readdir(dir))) {
		if (!sku_host_is_file(entry->d_name))
			continue;
		if (files->n == SKU_FILES_MAX)
			return err_set(err, E2BIG, "%s: more than %d files", path, SKU_FILES_MAX);
		files->names[files->n++] = xstrdup(entry->d_name);
	}
	if (files->n)
		qsort(files->names, files->n, sizeof(files->names[0]), by_name);
	return 0;
}

/* What to search for in the files: a name (the pin), or the models. */
struct wanted {
	const char *name;
	const struct sku_models *models;
};

static bool better(const struct sku *s, const struct wanted *w, const struct sku *best)
{
	if (w->name)
		return !best->name && streq(s->name, w->name);
	return sku_matches(s, w->models) && (!best->name || sku_better(s, best, w->models));
}

static int search(const char *dir, const struct wanted *w, struct sku *ret, struct err *err)
{
	CLEANUP(files_release) struct files files = { .n = 0 };
	CLEANUP(sku_release) struct sku best = { 0 };
	int r = list_files(dir, &files, err);
	size_t i;

	for (i = 0; r == 0 && i < files.n; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, files.names[i]);
		CLEANUP(sku_release) struct sku s = { 0 };

		r = sku_file_read(path, &s, err);
		if (r == 0 && better(&s, w, &best)) {
			sku_release(&best);
			best = s;
			s = (struct sku){ 0 };
		}
	}
	if (r < 0)
		return r;
	if (!best.name)
		return err_set(err, ENOENT, "no SKU file in %s matches this host%s%s", dir,
			       w->name ? ": it is pinned to " : "", w->name ? w->name : "");
	*ret = best;
	best = (struct sku){ 0 };
	return 0;
}

/* NULL if there is none or it cannot be read. */
static json_t *read_pin(void)
{
	json_t *pin = NULL;

	if (state_load("sku", &pin, NULL) < 0)
		return NULL;
	/* A pin without a name is ignored and replaced at the next pass. */
	if (!json_string_value(json_object_get(pin, "sku")))
		json_decref(TAKE(pin));
	return pin;
}

static char *changed(const json_t *pin, const struct sku_models *models)
{
	CLEANUP(freep) char *now = sku_models_text(models);
	const char *then = json_string_value(json_object_get(pin, "models"));

	if (!then || streq(then, now))
		return NULL;
	return xasprintf("the hardware has changed since this host was pinned as %s: from %s to "
			 "%s; if that is intended, remove the file 'sku' from the state directory",
			 json_string_value(json_object_get(pin, "sku")), then, now);
}

/* Was it made with the hardware that this host has now? */
static bool is_same_hardware(const json_t *pin, const struct sku_models *models)
{
	CLEANUP(freep) char *now = sku_models_text(models);
	const char *then = json_string_value(json_object_get(pin, "models"));

	return then && streq(then, now);
}

/* Without the file a host that lacks devices would pass. */
static char *no_file(const char *name, const char *dir)
{
	return xasprintf("this host is pinned as %s, and no file in %s describes that SKU: put it "
			 "back, or remove the file 'sku' from the state directory",
			 name, dir);
}

int sku_host_find(const struct sku_models *models, struct sku *ret, char **ret_changed,
		  struct err *err)
{
	CLEANUP(freep) char *policy = paths_policy();
	CLEANUP(freep) char *dir = xasprintf("%s/sku", policy);
	CLEANUP(json_freep) json_t *pin = read_pin();
	struct wanted w = {
		.name = json_string_value(json_object_get(pin, "sku")),
		.models = models,
	};
	const struct wanted anew = { .models = models };
	int r = search(dir, &w, ret, err);

	/* The file now covers other devices, which the host never had. */
	if (r == 0 && w.name && !sku_matches_kinds(ret, models) && is_same_hardware(pin, models)) {
		sku_release(ret);
		*ret_changed = NULL;
		return search(dir, &anew, ret, err);
	}
	if (r == 0)
		*ret_changed = w.name ? changed(pin, models) : NULL;
	else if (r == -ENOENT && w.name)
		*ret_changed = no_file(w.name, dir);
	return r;
}

int sku_host_pin(const struct sku *sku, const struct sku_models *models, struct err *err)
{
	CLEANUP(json_freep) json_t *there = read_pin();
	CLEANUP(json_freep) json_t *pin = NULL;
	CLEANUP(freep) char *text = NULL;

	if (there && (streq(json_string_value(json_object_get(there, "sku")), sku->name) ||
		      !is_same_hardware(there, models)))
		return 0;
	text = sku_models_text(models);
	pin = json_pack("{s:i, s:s, s:s}", "v", 1, "sku", sku->name, "models", text);
	return state_save("sku", pin, err);
}
