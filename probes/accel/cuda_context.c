/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_context.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/sys/watched.h"
#include "probes/accel/cuda_nvml.h"

/*
 * Errors of the driver by meaning; any other is -EPROTO. Kernels are NVIDIA's own and the same on
 * every GPU, so a GPU whose kernel does something illegal is faulty.
 */
static const struct {
	unsigned result;
	int r;
} meanings[] = {
	{ CUDA_OUT_OF_MEMORY, -ENOMEM },
	{ CUDA_DEVICE_UNAVAILABLE, -EBUSY },
	{ CUDA_NO_DEVICE, -EIO },
	{ CUDA_INVALID_DEVICE, -EIO },
	{ CUDA_ECC_UNCORRECTABLE, -EIO },
	{ CUDA_NVLINK_UNCORRECTABLE, -EIO },
	{ CUDA_CONTAINED, -EIO },
	{ CUDA_HARDWARE_STACK_ERROR, -EIO },
	{ CUDA_ILLEGAL_INSTRUCTION, -EIO },
	{ CUDA_MISALIGNED_ADDRESS, -EIO },
	{ CUDA_INVALID_ADDRESS_SPACE, -EIO },
	{ CUDA_INVALID_PC, -EIO },
	{ CUDA_ILLEGAL_ADDRESS, -EIO },
	{ CUDA_LAUNCH_TIMEOUT, -EIO },
	{ CUDA_LAUNCH_FAILED, -EIO },
	{ CUDA_UNKNOWN, -EIO },
	{ CUDA_NOT_SUPPORTED, -ENOTSUP },
};

static int meaning(unsigned result)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (meanings[i].result == result)
			return meanings[i].r;
	}
	return -EPROTO;
}

/* The driver has no error for a GPU that is gone, so ask NVML. */
static bool is_lost(struct cuda *c, unsigned device)
{
	struct nvml_state state;

	return c->nvml && cuda_nvml_look(c->nvml, device, 0, &state, NULL) == 0 && state.lost;
}

int cuda_check(struct cuda *c, unsigned device, unsigned result, const char *what, struct err *err)
{
	const char *subject = c->devices[device].info.subject;
	char words[160];
	int r;

	if (watched_is_left())
		return err_set(err, ECANCELED, "%s: %s: given up", subject, what);
	if (result == CUDA_OK)
		return 0;
	r = meaning(result);
	cuda_words(&c->libs.driver, result, words);
	if (r == -EIO && is_lost(c, device))
		return err_set(err, ENODEV, "%s is lost (NVML: GPU_IS_LOST): %s: %s", subject, what,
			       words);
	return err_set(err, -r, "%s: %s: %s", subject, what, words);
}

int cuda_enter(struct cuda *c, unsigned device, struct err *err)
{
	struct cuda_device *d;
	struct CUctx_st *context;
	int r = 0;

	if (device >= c->n_devices)
		return err_set(err, ENODEV, "no GPU %u: this host has %u", device, c->n_devices);
	d = &c->devices[device];
	if (watched_is_left())
		return err_set(err, ECANCELED, "%s: given up", d->info.subject);
	c->asked = d->info.subject;
	if (!d->context) {
		r = cuda_check(c, device, c->libs.driver.ctx_retain(&context, d->handle),
			       "cannot make a context", err);
		if (r == 0)
			d->context = context;
	}
	if (r == 0)
		r = cuda_check(c, device, c->libs.driver.ctx_set(d->context),
			       "cannot enter its context", err);
	return r;
}
