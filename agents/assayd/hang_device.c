/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_device.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/pci_address.h"
#include "lib/sys/rnic_ports.h"
#include "lib/sys/sysfs.h"

enum {
	WORD_BYTES = 4,
	LINK_SIZE = 256,
	FDS_MAX = 65536, /* per process */
	INFORMATION_MAX = 4096,
	DECIMAL = 10,
};

bool hang_device_rdma_bytes(uint64_t *ret_bytes)
{
	static const char *const counters[] = { "port_xmit_data", "port_rcv_data" };
	CLEANUP(ports_release) struct ports ports = { 0 };
	uint64_t words = 0, value;
	bool found = false;
	size_t i, k;

	ports_read(NULL, &ports);
	for (i = 0; i < ports.n; i++) {
		for (k = 0; k < ARRAY_SIZE(counters); k++) {
			if (!sys_u64(&value, "/sys/class/infiniband/%s/ports/%u/counters/%s",
				     ports.all[i].device, ports.all[i].number, counters[k]))
				continue;
			words += value;
			found = true;
		}
	}
	*ret_bytes = words * WORD_BYTES;
	return found;
}

/* N of ".../dev/nvidiaN"; -1: another file. */
static int gpu_of(const char *path)
{
	static const char name[] = "/dev/nvidia";
	const char *at = strstr(path, name);
	char *end;
	long gpu;

	if (!at || !isdigit((unsigned char)at[strlen(name)]))
		return HANG_DEVICE_NO_GPU;
	gpu = strtol(at + strlen(name), &end, DECIMAL);
	return *end || gpu > INT16_MAX ? HANG_DEVICE_NO_GPU : (int)gpu;
}

int hang_device_gpu(int proc_fd)
{
	const int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int found = HANG_DEVICE_NO_GPU, n = 0;
	char link[LINK_SIZE];

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return HANG_DEVICE_NO_GPU;
	}
	while (n++ < FDS_MAX && found != HANG_DEVICE_GPUS && (entry = readdir(dir))) {
		const ssize_t size = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		int gpu;

		link[MAX(size, (ssize_t)0)] = '\0';
		gpu = gpu_of(link);
		if (gpu >= 0 && gpu != found)
			found = found < 0 ? gpu : HANG_DEVICE_GPUS;
	}
	(void)closedir(dir);
	return found;
}

static bool is_minor(const char *address, int gpu)
{
	static const char key[] = "Device Minor:";
	CLEANUP(freep)
	char *path = sys_path("/proc/driver/nvidia/gpus/%s/information", address);
	CLEANUP(freep) char *text = NULL;
	const char *at;

	if (file_read(AT_FDCWD, path, INFORMATION_MAX, &text, NULL, NULL) < 0)
		return false;
	at = strstr(text, key);
	return at && strtol(at + strlen(key), NULL, DECIMAL) == gpu;
}

bool hang_device_pci(int gpu, char ret[static PCI_ADDRESS_SIZE])
{
	char **all = gpu < 0 ? NULL : sys_list("/proc/driver/nvidia/gpus", "");
	size_t i;

	ret[0] = '\0';
	for (i = 0; all && all[i] && !ret[0]; i++) {
		if (is_minor(all[i], gpu))
			(void)pci_find_address(all[i], ret);
	}
	strv_free(all);
	return ret[0] != '\0';
}
