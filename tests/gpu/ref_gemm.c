/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of assay-probe-gemm: a plain loop of cuBLASLt products on GPU 0.
 *
 *	ref_gemm [--shape M,N,K] [--data uniform|normal|int|zeros] [--seconds S] [--every S]
 *
 * bf16, with the algorithm that the heuristic ranks first. Prints the time of
 * each step of the start, a line for each interval of `every` seconds with rate,
 * clock, power and temperature, and at the end the host time of a launch, the
 * overall rate without the first second, and the time of the teardown.
 */
#include <math.h>

#include "tests/gpu/ref.h"

enum {
	DATA_MAX = 1 << 24, /* distinct elements; a larger factor repeats them */
	WORKSPACE = 32 << 20,
	LAUNCHES_MAX = 4096, /* whose time is kept */
	STREAM_WAIT_S = 20,
	EVENTS = 4,
	PRODUCTS_MAX = 300, /* per interval */
};

struct gemm {
	struct cuda_driver cu;
	struct cuda_lt lt;
	struct nvml_calls nvml;
	struct nvml_device *nvml_device;
	struct CUctx_st *ctx;
	struct CUstream_st *stream;
	struct CUevent_st *events[EVENTS];
	unsigned m, n, k;
	cuda_ptr a, b, d, workspace;
	lt_handle handle;
	lt_desc desc;
	lt_layout first, second, out;
	lt_algo algo;
	double launch_us[LAUNCHES_MAX];
	unsigned n_launches;
};

static double start_s;

/* Prints one step of the start. */
static void tell(const char *part)
{
	double now = ref_now();

	(void)printf("{\"part\":\"%s\",\"seconds\":%.6f}\n", part, now - start_s);
	start_s = ref_now();
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double uniform(uint64_t *state)
{
	return (double)(next(state) >> 11) * 0x1p-52 - 1.0; /* from -1 to 1 */
}

static double value_of(const char *data, uint64_t *state)
{
	if (strcmp(data, "normal") == 0)
		return sqrt(-2 * log((uniform(state) + 1) / 2 + 1e-12)) *
		       cos(3.14159265358979 * uniform(state));
	if (strcmp(data, "int") == 0)
		return (double)(next(state) % 5) - 2;
	return strcmp(data, "zeros") == 0 ? 0 : uniform(state);
}

/* bf16, truncated like in the probe. */
static void fill(struct gemm *g, cuda_ptr to, size_t n, const char *data)
{
	size_t some = n < DATA_MAX ? n : DATA_MAX, i, at;
	uint64_t state = 0x9e3779b97f4a7c15;
	uint16_t *host = NULL;

	REF_OK(g->cu.host_alloc((void **)&host, some * sizeof(*host), CUDA_HOST_PORTABLE));
	for (i = 0; i < some; i++) {
		float value = (float)value_of(data, &state);
		uint32_t bits;

		memcpy(&bits, &value, sizeof(bits));
		host[i] = (uint16_t)(bits >> 16);
	}
	for (at = 0; at < n; at += some)
		REF_OK(g->cu.copy_async(to + 2 * at, (cuda_ptr)(uintptr_t)host,
					2 * (n - at < some ? n - at : some), g->stream));
	ref_wait(&g->cu, g->stream, STREAM_WAIT_S);
	REF_OK(g->cu.host_free(host));
}

static void load_lt(struct cuda_lt *table, int major)
{
	char newest[32], older[32];
	const char *const names[] = { newest, older, NULL };
	const struct library_symbol symbols[] = { CUDA_LT_FUNCTIONS(LIBRARY_SYMBOL) };

	(void)snprintf(newest, sizeof(newest), "libcublasLt.so.%d", major);
	(void)snprintf(older, sizeof(older), "libcublasLt.so.%d", major - 1);
	ref_find(ref_load("REF_LIBCUBLASLT", names), symbols, REF_COUNT(symbols));
}

static void start(struct gemm *g)
{
	int version = 0, i;

	start_s = ref_now();
	ref_load_driver(&g->cu);
	REF_OK(g->cu.driver_version(&version));
	load_lt(&g->lt, version / 1000);
	tell("load");
	REF_OK(g->cu.init(0));
	tell("cuInit");
	REF_OK(g->cu.ctx_retain(&g->ctx, 0));
	REF_OK(g->cu.ctx_set(g->ctx));
	REF_OK(g->cu.stream_create(&g->stream, CUDA_STREAM_NON_BLOCKING));
	for (i = 0; i < EVENTS; i++)
		REF_OK(g->cu.event_create(&g->events[i], CUDA_EVENT_DEFAULT));
	tell("context");
	REF_OK(g->lt.create(&g->handle));
	tell("cublasLt");
}

static void start_nvml(struct gemm *g)
{
	char uuid[64] = "GPU-", *at = uuid + 4;
	unsigned char bytes[CUDA_UUID_SIZE];
	size_t i;

	ref_load_nvml(&g->nvml);
	REF_OK(g->cu.device_uuid((struct CUuuid_st *)(void *)bytes, 0));
	for (i = 0; i < sizeof(bytes); i++)
		at += snprintf(at, 8, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			       bytes[i]);
	REF_OK(g->nvml.base.init());
	REF_OK(g->nvml.base.by_uuid(uuid, &g->nvml_device));
	tell("nvml");
}

static void describe(struct gemm *g)
{
	int32_t none = LT_OP_N;

	/* Column-major: D' = B' A'. */
	REF_OK(g->lt.desc_create(&g->desc, LT_COMPUTE_32F, LT_R_32F));
	REF_OK(g->lt.desc_set(g->desc, LT_DESC_TRANSA, &none, sizeof(none)));
	REF_OK(g->lt.layout_create(&g->first, LT_R_16BF, g->n, g->k, g->n));
	REF_OK(g->lt.layout_create(&g->second, LT_R_16BF, g->k, g->m, g->k));
	REF_OK(g->lt.layout_create(&g->out, LT_R_16BF, g->n, g->m, g->n));
}

static void choose(struct gemm *g)
{
	static const struct {
		const char *name;
		unsigned attribute;
		size_t size;
	} parts[] = { { "id", LT_CONFIG_ID, 4 },	 { "tile", LT_CONFIG_TILE, 4 },
		      { "stages", LT_CONFIG_STAGES, 4 }, { "split-k", LT_CONFIG_SPLIT_K, 4 },
		      { "inner", LT_CONFIG_INNER, 2 },	 { "cluster", LT_CONFIG_CLUSTER, 2 } };
	uint64_t workspace = WORKSPACE;
	lt_preference preference;
	lt_heuristic best;
	size_t i, written;
	int n = 0;

	REF_OK(g->lt.preference_create(&preference));
	REF_OK(g->lt.preference_set(preference, LT_PREF_MAX_WORKSPACE, &workspace,
				    sizeof(workspace)));
	REF_OK(g->lt.heuristic(g->handle, g->desc, g->first, g->second, g->out, g->out, preference,
			       1, &best, &n));
	REF_OK(g->lt.preference_destroy(preference));
	if (n < 1)
		ref_die("no algorithm for this product");
	g->algo = best.algo;
	(void)printf("{\"algorithm\":{");
	for (i = 0; i < REF_COUNT(parts); i++) {
		uint32_t value = 0;

		(void)g->lt.config(&g->algo, parts[i].attribute, &value, parts[i].size, &written);
		(void)printf("%s\"%s\":%u", i ? "," : "", parts[i].name, value);
	}
	(void)printf("},\"version\":%zu}\n", g->lt.version());
}

static void allocate(struct gemm *g, const char *data)
{
	size_t a = (size_t)g->m * g->k, b = (size_t)g->k * g->n, d = (size_t)g->m * g->n;

	REF_OK(g->cu.mem_alloc(&g->a, 2 * a));
	REF_OK(g->cu.mem_alloc(&g->b, 2 * b));
	REF_OK(g->cu.mem_alloc(&g->d, 2 * d));
	REF_OK(g->cu.mem_alloc(&g->workspace, WORKSPACE));
	fill(g, g->a, a, data);
	fill(g, g->b, b, data);
	tell("data");
}

static void launch(struct gemm *g)
{
	static const float one = 1, zero = 0;
	double begin = ref_now();

	REF_OK(g->lt.matmul(g->handle, g->desc, &one, (const void *)(uintptr_t)g->b, g->first,
			    (const void *)(uintptr_t)g->a, g->second, &zero,
			    (const void *)(uintptr_t)g->d, g->out, (void *)(uintptr_t)g->d, g->out,
			    &g->algo, (void *)(uintptr_t)g->workspace, WORKSPACE, g->stream));
	if (g->n_launches < LAUNCHES_MAX)
		g->launch_us[g->n_launches++] = 1e6 * (ref_now() - begin);
}

/* Records the i-th event in the stream; EVENTS of them are kept. */
static void mark(struct gemm *g, unsigned i)
{
	REF_OK(g->cu.event_record(g->events[i % EVENTS], g->stream));
}

/* Launches n products and an event after them. */
static void put(struct gemm *g, unsigned n, unsigned i)
{
	while (n--)
		launch(g);
	mark(g, i);
}

/* Returns the seconds between an event and the next, by the GPU's clock. */
static double between(struct gemm *g, unsigned i)
{
	struct CUevent_st *from = g->events[i % EVENTS], *to = g->events[(i + 1) % EVENTS];
	double until = ref_now() + STREAM_WAIT_S;
	unsigned result;
	float ms = 0;

	while ((result = g->cu.event_query(to)) == CUDA_NOT_READY) {
		if (ref_now() > until)
			ref_die("products were not done after %d s", STREAM_WAIT_S);
		ref_pause_us(50);
	}
	ref_ok(result, "cuEventQuery");
	REF_OK(g->cu.event_ms(&ms, from, to));
	return 1e-3 * (double)ms;
}

static unsigned field(struct gemm *g, unsigned (*get)(struct nvml_device *, unsigned, unsigned *),
		      unsigned which)
{
	unsigned value = 0;

	return get && get(g->nvml_device, which, &value) == NVML_OK ? value : 0;
}

static void tell_stretch(struct gemm *g, double at, double rate)
{
	const struct cuda_nvml *nvml = &g->nvml.base;
	unsigned milliwatt = 0;

	if (nvml->power)
		(void)nvml->power(g->nvml_device, &milliwatt);
	(void)printf("{\"at\":%.3f,\"flops\":%.6g,\"mhz\":%u,\"watt\":%.1f,\"celsius\":%u}\n", at,
		     rate, field(g, nvml->clock, NVML_CLOCK_SM), 1e-3 * (double)milliwatt,
		     field(g, nvml->temperature, NVML_TEMPERATURE_GPU));
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Returns how many products fill an interval: the driver queues three without blocking. */
static unsigned products_in(struct gemm *g, double every)
{
	double one;

	mark(g, 0);
	put(g, 1, 1);
	(void)between(g, 0);
	tell("first product");
	mark(g, 0);
	put(g, 8, 1);
	one = between(g, 0) / 8;
	return one * PRODUCTS_MAX < every ? (unsigned)PRODUCTS_MAX : (unsigned)(every / one) + 1;
}

/* Queues the next interval before it evaluates the last, so the GPU is never idle. */
static void measure(struct gemm *g, double seconds, double every)
{
	double flop = 2.0 * g->m * g->n * g->k, busy = 0, done = 0, begin;
	unsigned n = products_in(g, every), i;

	g->n_launches = 0;
	begin = ref_now();
	mark(g, 0);
	put(g, n, 1);
	for (i = 0; ref_now() - begin < seconds; i++) {
		double taken, at;

		put(g, n, i + 2);
		taken = between(g, i);
		at = ref_now() - begin;
		tell_stretch(g, at, n * flop / taken);
		if (at > 1 || seconds < 2) {
			busy += taken;
			done += n * flop;
		}
	}
	(void)between(g, i);
	qsort(g->launch_us, g->n_launches, sizeof(g->launch_us[0]), by_size);
	(void)printf("{\"rate\":%.6g,\"stretch\":%u,\"launch_us_p50\":%.2f,"
		     "\"launch_us_p99\":%.2f}\n",
		     busy > 0 ? done / busy : 0, n, g->launch_us[g->n_launches / 2],
		     g->launch_us[(size_t)g->n_launches * 99 / 100]);
}

static void end(struct gemm *g)
{
	int i;

	start_s = ref_now();
	REF_OK(g->cu.mem_free(g->a));
	REF_OK(g->cu.mem_free(g->b));
	REF_OK(g->cu.mem_free(g->d));
	REF_OK(g->cu.mem_free(g->workspace));
	REF_OK(g->lt.layout_destroy(g->first));
	REF_OK(g->lt.layout_destroy(g->second));
	REF_OK(g->lt.layout_destroy(g->out));
	REF_OK(g->lt.desc_destroy(g->desc));
	REF_OK(g->lt.destroy(g->handle));
	for (i = 0; i < EVENTS; i++)
		REF_OK(g->cu.event_destroy(g->events[i]));
	REF_OK(g->cu.stream_destroy(g->stream));
	tell("free");
	REF_OK(g->cu.ctx_release(0));
	tell("context gone");
	REF_OK(g->nvml.base.shutdown());
}

int main(int argc, char **argv)
{
	static struct gemm g;
	const char *shape = ref_option(argc, argv, "--shape", "8192,8192,8192");
	char *at = NULL;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	g.m = (unsigned)strtoul(shape, &at, 10);
	g.n = *at == ',' ? (unsigned)strtoul(at + 1, &at, 10) : 0;
	g.k = *at == ',' ? (unsigned)strtoul(at + 1, &at, 10) : 0;
	if (!g.m || !g.n || !g.k)
		ref_die("--shape: '%s' is not M,N,K", shape);
	start(&g);
	start_nvml(&g);
	describe(&g);
	choose(&g);
	allocate(&g, ref_option(argc, argv, "--data", "uniform"));
	measure(&g, strtod(ref_option(argc, argv, "--seconds", "5"), NULL),
		strtod(ref_option(argc, argv, "--every", "0.1"), NULL));
	end(&g);
	return 0;
}
