/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs that are on the PCI bus but that the driver never showed. A GPU that was already broken at
 * the first run of this probe must not be taken for one that the host does not have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/gpu_state/gpu_state.h"
#include "probes/harness/known.h"
#include "probes/host_state/pci.h"

enum { NAME_SIZE = 64 };

/* Does a GPU that was read, or one of `lost`, have this address? */
static bool is_told_of(const struct gpu_state *state, const struct known *lost, size_t n_lost,
		       const char *address)
{
	const json_t *past = json_object_get(state->past, "gpus");
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		if (streq(state->gpus->all[i].pci, address))
			return true;
	}
	for (i = 0; i < n_lost; i++) {
		const json_t *was = json_object_get(past, lost[i].id);
		const char *at = json_string_value(json_object_get(was, "pci"));

		if (at && streq(at, address))
			return true;
	}
	return false;
}

/* "nvidia", "vfio-pci" or "": the last component of the link. */
static void driver_of(const char *address, char ret[static NAME_SIZE])
{
	CLEANUP(freep) char *path = sys_path("/sys/bus/pci/devices/%s/driver", address);
	char link[256];
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	char *name;

	ret[0] = '\0';
	if (n <= 0)
		return;
	link[n] = '\0';
	name = strrchr(link, '/');
	(void)snprintf(ret, NAME_SIZE, "%.63s", ascii_clean(name ? name + 1 : link));
}

/* Does the container runtime give this container only some of the GPUs? */
static bool is_a_part(void)
{
	const char *visible = getenv("NVIDIA_VISIBLE_DEVICES");

	return visible && *visible && !streq(visible, "all");
}

static int tell_one(struct gpu_state *state, const char *address)
{
	const struct gpu_words words = { .check = "gpu.lost", .value = 1, .code = "not-shown" };
	const struct gpu_words elsewhere = { .check = "gpu.lost" };
	char subject[GPU_SUBJECT_SIZE], driver[NAME_SIZE];

	(void)snprintf(subject, sizeof(subject), "pci:%s", address);
	driver_of(address, driver);
	if (is_a_part())
		return gpu_tell(
			state, subject, &elsewhere, FINDING_NOTE,
			"on the PCI bus but not in this container (NVIDIA_VISIBLE_DEVICES)");
	if (driver[0] && !starts_with(driver, "nvidia"))
		return gpu_tell(state, subject, &elsewhere, FINDING_NOTE,
				"on the PCI bus and bound to the driver %s", driver);
	return gpu_tell(state, subject, &words, FINDING_FAIL,
			"a GPU is on the PCI bus at %s but the driver does not show it (%s): it "
			"failed to start, or is hidden from this container; check the kernel log",
			address, driver[0] ? "it has it" : "no driver is bound to it");
}

int gpu_bus(struct gpu_state *state, const struct known *lost, size_t n_lost)
{
	CLEANUP(pci_release) struct pci_tree tree = { 0 };
	size_t i;
	int r = 0;

	pci_read(&tree);
	for (i = 0; i < tree.n && r == 0; i++) {
		const struct pci_device *d = &tree.devices[i];

		if (pci_is_gpu(d) && d->vendor == PCI_VENDOR_NVIDIA &&
		    !is_told_of(state, lost, n_lost, d->address))
			r = tell_one(state, d->address);
	}
	return r;
}
