/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/fwctl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/strv.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/sysfs.h"

enum {
	ACCESS_REGISTER_USER = 0xb0c,
	OP_READ = 1,
	SCOPE_READ_ONLY = 1, /* FWCTL_RPC_DEBUG_READ_ONLY */
	AT_OP = 6,
	AT_REGISTER = 10,
};

/* struct fwctl_rpc; current distribution headers do not have it. */
struct rpc {
	uint32_t size, scope, in_len, out_len;
	uint64_t in, out;
};
#define FWCTL_RPC _IO(0x9A, 1)

static void put_16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void fwctl_encode(uint16_t id, const uint8_t *data, size_t size, uint8_t *ret)
{
	memset(ret, 0, FWCTL_HEAD_SIZE);
	put_16(ret, ACCESS_REGISTER_USER);
	put_16(ret + AT_OP, OP_READ);
	put_16(ret + AT_REGISTER, id);
	memcpy(ret + FWCTL_HEAD_SIZE, data, size);
}

int fwctl_decode(const uint8_t *answer, size_t size, uint8_t *ret_data)
{
	if (answer[0] != 0) /* status */
		return -EREMOTEIO;
	memcpy(ret_data, answer + FWCTL_HEAD_SIZE, size);
	return 0;
}

/* Name of the fwctl device whose parent is that function, or NULL. The caller frees it. */
static char *find_device(const char *pci)
{
	CLEANUP(strv_freep) char **names = sys_list("/sys/class/fwctl", "fwctl");
	size_t i;

	for (i = 0; names && names[i]; i++) {
		CLEANUP(freep) char *path = sys_path("/sys/class/fwctl/%s/device", names[i]);
		char target[PATH_MAX];
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		const char *slash;

		if (n < 0)
			continue;
		target[n] = '\0';
		slash = strrchr(target, '/');
		if (streq(slash ? slash + 1 : target, pci))
			return xstrdup(names[i]);
	}
	return NULL;
}

int fwctl_read_register(void *context UNUSED, const char *pci, uint16_t id, uint8_t *data,
			size_t size)
{
	uint8_t in[FWCTL_HEAD_SIZE + FWCTL_DATA_MAX], out[FWCTL_HEAD_SIZE + FWCTL_DATA_MAX] = { 0 };
	CLEANUP(freep) char *name = find_device(pci);
	CLEANUP(closep) int fd = -1;
	CLEANUP(freep) char *path = NULL;
	struct rpc rpc = { .size = sizeof(rpc),
			   .scope = SCOPE_READ_ONLY,
			   .in_len = (uint32_t)(FWCTL_HEAD_SIZE + size),
			   .out_len = (uint32_t)(FWCTL_HEAD_SIZE + size),
			   .in = (uintptr_t)in,
			   .out = (uintptr_t)out };

	if (!name)
		return -ENODEV;
	if (size > FWCTL_DATA_MAX)
		return -EINVAL;
	path = xasprintf("/dev/fwctl/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fwctl_encode(id, data, size, in);
	if (ioctl(fd, FWCTL_RPC, &rpc) < 0)
		return -errno;
	return fwctl_decode(out, size, data);
}
