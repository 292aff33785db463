/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of assay-probe-memory: a plain loop of cuMemcpyAsync on GPU 0,
 * for each size, direction and kind of host memory: allocated by the driver,
 * registered (4 KiB pages), registered (huge pages if the kernel provides them).
 *
 *	ref_copy [--sizes B,B,...] [--seconds S of each]
 *
 * A copy within the GPU is counted as bytes read plus bytes written.
 */
#include <sys/mman.h>

#include "tests/gpu/ref.h"

enum { SIZES_MAX = 8, WINDOWS = 9, COPIES_MAX = 256, WAIT_S = 20, HUGE_PAGE = 2 << 20 };

struct copy {
	struct cuda_driver cu;
	struct CUctx_st *ctx;
	struct CUstream_st *stream;
	struct CUevent_st *from, *to;
	cuda_ptr here, there;
	double seconds;
};

static double window(struct copy *c, cuda_ptr to, cuda_ptr from, size_t size, unsigned n)
{
	float ms = 0;
	unsigned i;

	REF_OK(c->cu.event_record(c->from, c->stream));
	for (i = 0; i < n; i++)
		REF_OK(c->cu.copy_async(to, from, size, c->stream));
	REF_OK(c->cu.event_record(c->to, c->stream));
	ref_wait(&c->cu, c->stream, WAIT_S);
	REF_OK(c->cu.event_ms(&ms, c->from, c->to));
	return 1e-3 * (double)ms;
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void measure(struct copy *c, const char *way, const char *memory, cuda_ptr to, cuda_ptr from,
		    size_t size)
{
	double rates[WINDOWS], one, bytes = strcmp(way, "device") == 0 ? 2.0 : 1.0;
	unsigned i, n;

	(void)window(c, to, from, size, 4);
	one = window(c, to, from, size, 4) / 4;
	n = (unsigned)(c->seconds / WINDOWS / one) + 1;
	n = n > COPIES_MAX ? (unsigned)COPIES_MAX : n;
	bytes *= (double)size * n;
	for (i = 0; i < WINDOWS; i++)
		rates[i] = bytes / window(c, to, from, size, n);
	qsort(rates, WINDOWS, sizeof(rates[0]), by_size);
	(void)printf("{\"way\":\"%s\",\"memory\":\"%s\",\"size\":%zu,\"rate\":%.6g,\"min\":%.6g,"
		     "\"max\":%.6g}\n",
		     way, memory, size, rates[WINDOWS / 2], rates[0], rates[WINDOWS - 1]);
}

static void both_ways(struct copy *c, const char *memory, void *host, size_t size)
{
	cuda_ptr at = (cuda_ptr)(uintptr_t)host;

	measure(c, "h2d", memory, c->here, at, size);
	measure(c, "d2h", memory, at, c->here, size);
}

/* If the driver refuses to pin it, prints a line that says so. */
static void registered(struct copy *c, const char *memory, size_t size, int advice)
{
	size_t room = size + HUGE_PAGE;
	char *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = map + (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
	unsigned result;

	if (map == MAP_FAILED)
		ref_die("no memory");
	(void)madvise(map, room, advice);
	memset(at, 1, size);
	result = c->cu.host_register(at, size, CUDA_HOST_PORTABLE);
	if (result) {
		(void)printf("{\"way\":\"register\",\"memory\":\"%s\",\"size\":%zu,"
			     "\"error\":%u}\n",
			     memory, size, result);
	} else {
		both_ways(c, memory, at, size);
		REF_OK(c->cu.host_unregister(at));
	}
	(void)munmap(map, room);
}

static void one_size(struct copy *c, size_t size)
{
	void *host = NULL;

	REF_OK(c->cu.mem_alloc(&c->here, size));
	REF_OK(c->cu.mem_alloc(&c->there, size));
	REF_OK(c->cu.host_alloc(&host, size, CUDA_HOST_PORTABLE));
	memset(host, 1, size);
	both_ways(c, "alloc", host, size);
	REF_OK(c->cu.host_free(host));
	registered(c, "4k", size, MADV_NOHUGEPAGE);
	registered(c, "huge", size, MADV_HUGEPAGE);
	measure(c, "device", "device", c->there, c->here, size);
	REF_OK(c->cu.mem_free(c->here));
	REF_OK(c->cu.mem_free(c->there));
}

int main(int argc, char **argv)
{
	const char *at = ref_option(argc, argv, "--sizes", "33554432,268435456");
	static struct copy c;
	unsigned n;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	c.seconds = strtod(ref_option(argc, argv, "--seconds", "0.5"), NULL);
	ref_load_driver(&c.cu);
	REF_OK(c.cu.init(0));
	REF_OK(c.cu.ctx_retain(&c.ctx, 0));
	REF_OK(c.cu.ctx_set(c.ctx));
	REF_OK(c.cu.stream_create(&c.stream, CUDA_STREAM_NON_BLOCKING));
	REF_OK(c.cu.event_create(&c.from, CUDA_EVENT_DEFAULT));
	REF_OK(c.cu.event_create(&c.to, CUDA_EVENT_DEFAULT));
	for (n = 0; *at && n < SIZES_MAX; n++) {
		char *end = NULL;
		size_t size = strtoull(at, &end, 10);

		if (!size)
			ref_die("--sizes: '%s' is not B,B,...", at);
		one_size(&c, size);
		at = *end ? end + 1 : end;
	}
	REF_OK(c.cu.event_destroy(c.from));
	REF_OK(c.cu.event_destroy(c.to));
	REF_OK(c.cu.stream_destroy(c.stream));
	REF_OK(c.cu.ctx_release(0));
	return 0;
}
