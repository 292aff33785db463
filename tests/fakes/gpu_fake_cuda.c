/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/gpu_fake.h"
#include "tests/unit/random.h"

enum {
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
};

static const double spread = 0.004;

struct CUuuid_st {
	unsigned char bytes[CUDA_UUID_SIZE];
};

struct CUctx_st {
	unsigned gpu;
};

struct CUstream_st {
	unsigned gpu;
	double free_at_ns;	    /* INFINITY: it hangs */
	bool hangs_next;	    /* once its queue is empty */
	bool collective;	    /* in a collective: others wait for it, or it for them */
	double ends_ns[FAKE_QUEUE]; /* of the queued work; a ring */
	size_t n_put, n_gone;
};

struct CUevent_st {
	unsigned gpu;
	double at_ns; /* NAN: not recorded */
};

static struct gpu {
	struct CUctx_st context;
	int retained;
	unsigned products, copies;
	unsigned collectives; /* streams in collectives: they slow products down */
	unsigned peers;	      /* bitmask of GPUs whose memory it can access directly */
	struct random random;
} gpus[FAKE_GPUS_MAX];

static _Thread_local struct CUctx_st *current;
static bool has_failed(const char *fault, unsigned gpu)
{
	return fake_is(fault, gpu) && gpus[gpu].products >= FAKE_HEALTHY;
}

static bool has_worn(const char *fault, unsigned gpu)
{
	return fake_is(fault, gpu) && gpus[gpu].copies >= FAKE_HEALTHY;
}

bool fake_gpu_is_lost(unsigned gpu)
{
	return has_failed("lost", gpu) || has_worn("losecopy", gpu);
}

bool fake_gpu_has_worn(const char *fault, unsigned gpu)
{
	return has_worn(fault, gpu);
}

bool fake_gpu_has_context(unsigned gpu)
{
	return gpus[gpu].retained > 0;
}

unsigned fake_enter_from(unsigned *ret_gpu, const char *call)
{
	if (!current)
		return INVALID_CONTEXT;
	*ret_gpu = current->gpu;
	fake_block(call, *ret_gpu);
	if (fake_gpu_is_lost(*ret_gpu))
		return CUDA_UNKNOWN;
	if (has_failed("broken", *ret_gpu))
		return (unsigned)fake_setting("error", CUDA_UNKNOWN);
	return has_failed("ecc", *ret_gpu) || has_worn("ecccopy", *ret_gpu) ? CUDA_ECC_UNCORRECTABLE
									    : CUDA_OK;
}

unsigned fake_enter_as_from(unsigned gpu, const char *call)
{
	unsigned now = 0, result = fake_enter_from(&now, call);

	return result == CUDA_OK && now != gpu ? (unsigned)INVALID_HANDLE : result;
}

static bool has_begun;

bool fake_has_begun(void)
{
	return has_begun;
}

unsigned cuInit(unsigned flags)
{
	unsigned i;

	for (i = 0; i < FAKE_GPUS_MAX; i++)
		gpus[i].random =
			random_seeded((uint64_t)fake_setting("seed", 0) * FAKE_GPUS_MAX + i + 1);
	fake_block(__func__, FAKE_NO_GPU);
	if (!has_begun)
		fake_take("initms");
	has_begun = true;
	return flags ? (unsigned)CUDA_INVALID_VALUE : (unsigned)fake_setting("init", CUDA_OK);
}

unsigned cuDriverGetVersion(int *version)
{
	fake_block(__func__, FAKE_NO_GPU);
	*version = (int)fake_setting("driver", 13000);
	return CUDA_OK;
}

static unsigned name_of(unsigned result, const char **name)
{
	static const struct {
		unsigned result;
		const char *name;
	} names[] = {
		{ CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ CUDA_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE" },
		{ CUDA_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE" },
		{ CUDA_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" },
		{ CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN" },
	};
	size_t i;

	*name = NULL;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].result == result)
			*name = names[i].name;
	}
	return *name ? CUDA_OK : CUDA_INVALID_VALUE;
}

unsigned cuGetErrorName(unsigned result, const char **name)
{
	return name_of(result, name);
}

unsigned cuGetErrorString(unsigned result, const char **text)
{
	const char *name;

	*text = name_of(result, &name) == CUDA_OK ? "as the fake was told" : NULL;
	return *text ? CUDA_OK : CUDA_INVALID_VALUE;
}

static int count(void)
{
	long n = fake_setting("count", 2);

	return n < 0 || n > FAKE_GPUS_MAX ? 0 : (int)n;
}

unsigned cuDeviceGetCount(int *n)
{
	fake_block(__func__, FAKE_NO_GPU);
	*n = count();
	return CUDA_OK;
}

unsigned cuDeviceGet(int *device, int ordinal)
{
	fake_block(__func__, ordinal);
	*device = ordinal;
	return ordinal >= 0 && ordinal < count() ? CUDA_OK : CUDA_INVALID_DEVICE;
}

unsigned cuDeviceGetName(char *name, int size, int device)
{
	fake_block(__func__, device);
	(void)snprintf(name, (size_t)size, "%s GPU",
		       fake_is("other", (unsigned)device) ? "Other" : "Fake");
	return CUDA_OK;
}

unsigned cuDeviceGetUuid(struct CUuuid_st *uuid, int device)
{
	fake_block(__func__, device);
	*uuid = (struct CUuuid_st){ { 0xfa, 0xce } };
	uuid->bytes[CUDA_UUID_SIZE - 1] = (unsigned char)device;
	return CUDA_OK;
}

unsigned cuDeviceGetPCIBusId(char *bus_id, int size, int device)
{
	fake_block(__func__, device);
	(void)snprintf(bus_id, (size_t)size, "0000:%02X:00.0", 0x17 + device);
	return CUDA_OK;
}

unsigned cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
	fake_block(__func__, device);
	*value = attribute == CUDA_ATTRIBUTE_SM_COUNT ? FAKE_SM_COUNT
		 : attribute == CUDA_ATTRIBUTE_MAJOR  ? (int)fake_setting("capability", 90) / 10
		 : attribute == CUDA_ATTRIBUTE_MINOR  ? (int)fake_setting("capability", 90) % 10
		 : attribute == CUDA_ATTRIBUTE_DMABUF ? !fake_setting("nodmabuf", 0)
						      : 0;
	return CUDA_OK;
}

unsigned cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	fake_block(__func__, device);
	*bytes = (size_t)1 << 36;
	return CUDA_OK;
}

unsigned cuDevicePrimaryCtxRetain(struct CUctx_st **ctx, int device)
{
	struct gpu *g = &gpus[device];

	fake_block(__func__, device);
	if (fake_is("taken", (unsigned)device))
		return CUDA_DEVICE_UNAVAILABLE;
	if (!g->retained)
		fake_take_context((unsigned)device);
	g->context.gpu = (unsigned)device;
	g->retained++;
	fake_alive++;
	*ctx = &g->context;
	return CUDA_OK;
}

unsigned cuDevicePrimaryCtxRelease_v2(int device)
{
	fake_block(__func__, device);
	if (gpus[device].retained == 1)
		fake_take("closems");
	gpus[device].retained--;
	fake_alive--;
	return CUDA_OK;
}

unsigned cuCtxSetCurrent(struct CUctx_st *ctx)
{
	fake_block(__func__, ctx ? (long)ctx->gpu : FAKE_NO_GPU);
	current = ctx;
	return CUDA_OK;
}

unsigned cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	fake_block(__func__, device);
	*can = device != peer && !fake_is("alone", (unsigned)device);
	return CUDA_OK;
}

unsigned cuCtxEnablePeerAccess(struct CUctx_st *peer, unsigned flags)
{
	unsigned gpu = 0, result = fake_enter(&gpu);

	if (result != CUDA_OK || !peer || peer->gpu == gpu || flags)
		return result != CUDA_OK ? result : (unsigned)CUDA_INVALID_VALUE;
	if (gpus[gpu].peers & 1U << peer->gpu)
		return CUDA_PEER_ALREADY;
	fake_take("peerms");
	gpus[gpu].peers |= 1U << peer->gpu;
	return CUDA_OK;
}

static double begin_ns(const struct CUstream_st *s)
{
	double now = fake_now_ns();

	return s->free_at_ns > now ? s->free_at_ns : now;
}

/* Adds an entry to its queue: a launch blocks inside the driver while that is full. */
static void queue(struct CUstream_st *s, double end_ns)
{
	if (s->n_put - s->n_gone == FAKE_QUEUE) {
		const double now_ns = fake_now_ns();

		while (s->n_gone < s->n_put && s->ends_ns[s->n_gone % FAKE_QUEUE] <= now_ns)
			s->n_gone++;
	}
	if (s->n_put - s->n_gone == FAKE_QUEUE) {
		fake_wait_until(s->ends_ns[s->n_gone % FAKE_QUEUE]);
		s->n_gone++;
	}
	s->ends_ns[s->n_put++ % FAKE_QUEUE] = end_ns;
}

unsigned fake_kernels(void)
{
	static const long of_stream_k = 3;
	const long n = fake_setting("kernels", fake_setting("streamk", 0) ? of_stream_k : 1);

	return n < 1 ? 1 : (unsigned)n;
}

/* Queues the kernels of a product that begins at `from_ns`. */
static void queue_product(struct CUstream_st *s, double from_ns)
{
	const unsigned n = fake_kernels();
	unsigned i;

	for (i = 1; i <= n; i++)
		queue(s, from_ns + (s->free_at_ns - from_ns) * i / n);
}

unsigned fake_stream_busy(struct CUstream_st *stream, double ns)
{
	unsigned result = fake_enter_as(stream->gpu);

	if (result == CUDA_OK)
		stream->free_at_ns = begin_ns(stream) + ns;
	return result;
}

unsigned fake_put_copy(struct CUstream_st *stream, double bytes)
{
	static const double slow = 0.75;
	struct gpu *g = &gpus[stream->gpu];
	double rate =
		(double)fake_setting("copy", 20000) * 1e-3 * random_normal(&g->random, 1, spread);
	double own_ns = 0;
	unsigned result;

	rate *= fake_share(stream->gpu);
	fake_launch(stream->gpu);
	if (fake_is("slowcopy", stream->gpu))
		rate *= slow;
	if (fake_setting("copynsat", stream->gpu) == (long)stream->gpu)
		own_ns = (double)fake_setting("copyns", 0);
	result = fake_stream_busy(stream, bytes / rate + own_ns);
	if (result == CUDA_OK && has_worn("hangcopy", stream->gpu))
		stream->free_at_ns = INFINITY;
	if (result == CUDA_OK)
		queue(stream, stream->free_at_ns);
	g->copies++;
	return result;
}

unsigned fake_stream_gpu(const struct CUstream_st *stream)
{
	return stream->gpu;
}

double fake_stream_begin_ns(const struct CUstream_st *stream)
{
	return begin_ns(stream);
}

void fake_stream_hang_next(struct CUstream_st *stream)
{
	stream->hangs_next = true;
}

void fake_stream_set_end_ns(struct CUstream_st *stream, double ns)
{
	stream->free_at_ns = ns;
	gpus[stream->gpu].collectives += !stream->collective;
	stream->collective = true;
}

bool fake_gpu_is_held_back(unsigned gpu)
{
	return fake_is("hot", gpu) || fake_is("thirsty", gpu) || fake_is("braked", gpu) ||
	       fake_is("locked", gpu);
}

unsigned fake_put_product(struct CUstream_st *stream, const struct fake_product *p)
{
	static const double fault = 0.9, beside = 0.92, crowded = 0.8;
	struct gpu *g = &gpus[stream->gpu];
	double flop = 2.0 * (double)p->d.rows * (double)p->d.columns * (double)p->b.rows;
	double rate = (double)fake_setting("mflops", 250) * 1e-3 *
		      random_normal(&g->random, 1, spread) * fake_share(stream->gpu);
	double from_ns;
	unsigned result = fake_enter_as(stream->gpu);

	if (result == CUDA_OK)
		result = fake_memory_expect(p);
	if (result != CUDA_OK)
		return result;
	fake_take_launch(stream->gpu);
	fake_launch(stream->gpu);
	if (fake_is("slow", stream->gpu))
		rate *= fault;
	if (fake_gpu_is_held_back(stream->gpu))
		rate *= fault;
	rate *= fake_heat_of(stream->gpu).clock;
	if (g->collectives)
		rate *= fake_is("crowded", stream->gpu) ? beside * crowded : beside;
	from_ns = begin_ns(stream);
	stream->free_at_ns = from_ns + fake_product_ns(stream->gpu, from_ns, flop, flop / rate);
	fake_heat_busy(stream->gpu, stream->free_at_ns);
	if (has_failed("hang", stream->gpu))
		stream->free_at_ns = INFINITY;
	queue_product(stream, from_ns);
	g->products++;
	return CUDA_OK;
}

unsigned cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
	unsigned gpu = 0, result = fake_enter(&gpu);

	if (result != CUDA_OK || flags != CUDA_STREAM_NON_BLOCKING)
		return result != CUDA_OK ? result : (unsigned)CUDA_INVALID_VALUE;
	*stream = calloc(1, sizeof(**stream));
	(*stream)->gpu = gpu;
	fake_alive++;
	return CUDA_OK;
}

unsigned cuStreamDestroy_v2(struct CUstream_st *stream)
{
	fake_block(__func__, stream->gpu);
	gpus[stream->gpu].collectives -= stream->collective;
	free(stream);
	fake_alive--;
	return CUDA_OK;
}

unsigned cuStreamQuery(struct CUstream_st *stream)
{
	unsigned result = fake_enter_as(stream->gpu);

	return result == CUDA_OK && stream->free_at_ns > fake_now_ns() ? (unsigned)CUDA_NOT_READY
								       : result;
}

unsigned cuEventCreate(struct CUevent_st **event, unsigned flags)
{
	unsigned gpu = 0, result = fake_enter(&gpu);

	(void)flags;
	if (result != CUDA_OK)
		return result;
	*event = calloc(1, sizeof(**event));
	**event = (struct CUevent_st){ .gpu = gpu, .at_ns = (double)NAN };
	fake_alive++;
	return CUDA_OK;
}

unsigned cuEventDestroy_v2(struct CUevent_st *event)
{
	fake_block(__func__, event->gpu);
	free(event);
	fake_alive--;
	return CUDA_OK;
}

unsigned cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
	unsigned result = fake_enter_as(stream->gpu);

	if (stream->hangs_next && stream->free_at_ns <= fake_now_ns())
		stream->free_at_ns = INFINITY;
	if (result == CUDA_OK) {
		event->at_ns = begin_ns(stream);
		queue(stream, event->at_ns);
	}
	return result;
}

unsigned cuEventQuery(struct CUevent_st *event)
{
	unsigned result = fake_enter_as(event->gpu);

	return result == CUDA_OK && event->at_ns > fake_now_ns() ? (unsigned)CUDA_NOT_READY
								 : result;
}

unsigned cuEventElapsedTime(float *ms, struct CUevent_st *from, struct CUevent_st *to)
{
	unsigned result = fake_enter_as(from->gpu);

	if (result == CUDA_OK && (isnan(from->at_ns) || isnan(to->at_ns)))
		return INVALID_HANDLE;
	if (result == CUDA_OK && to->at_ns > fake_now_ns())
		return CUDA_NOT_READY;
	*ms = (float)((to->at_ns - from->at_ns) * 1e-6);
	return result;
}
