/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA engine with fake libraries, from the build directory. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/accel/cuda.h"
#include "tests/unit/test.h"

static const struct accel_ops *const ops = &accel_cuda_ops;

/* What is loaded is found again by its name: the engine then gets these. */
static bool load_fakes(void)
{
	static const char *const paths[] = { "tests/fakes/gpu/libcuda.so.1",
					     "tests/fakes/gpu/libcublasLt.so.13",
					     "tests/fakes/gpu/libnvidia-ml.so.1" };
	size_t i;

	/* The first is needed by the others, by its name too. */
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!dlopen(paths[i], RTLD_NOW | RTLD_LOCAL))
			return false;
	}
	return true;
}

static struct accel *open_gpus(const char *settings)
{
	struct accel *a = NULL;
	struct err err = ERR_INIT;

	if (!load_fakes()) {
		test_skip("the fakes are not built (make check)");
		return NULL;
	}
	(void)setenv("ASSAY_FAKE_GPUS", settings, 1);
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	CHECK_EQ(ops->open(&a, &err), 0);
	CHECK_STR(err.msg, "");
	return a;
}

static void a_gpu_has_its_uuid_address_and_size(void)
{
	struct accel_device_info info = { 0 };
	struct err err = ERR_INIT;
	struct accel *a;

	free(test_file("sys/bus/pci/devices/0000:18:00.0/numa_node", "1\n"));
	free(test_file("sys/bus/pci/devices/0000:18:00.0/local_cpulist", "4-7\n"));
	a = open_gpus("count=2");
	if (!a)
		return;
	CHECK_EQ(ops->n_devices(a), 2);
	CHECK_EQ(ops->device_info(a, 1, &info, &err), 0);
	CHECK_STR(info.subject, "gpu:GPU-face0000-0000-0000-0000-000000000001");
	CHECK_STR(info.pci, "0000:18:00.0");
	CHECK_STR(info.name, "Fake GPU");
	CHECK_EQ(info.numa, 1);
	CHECK_EQ(info.cpu, 4);
	CHECK_EQ(info.units, 8);
	CHECK_EQ(info.memory_bytes, 1LL << 36);
	CHECK_EQ(ops->device_info(a, 0, &info, &err), 0);
	CHECK_EQ(info.numa, -1);
	CHECK_EQ(ops->device_info(a, 2, &info, &err), -ENODEV);
	ops->close(a);
}

static void what_is_uploaded_and_copied_comes_back(void)
{
	enum { SIZE = CUDA_STAGE_BYTES + 4097 }; /* more than one piece */
	struct accel_memory device = { ACCEL_DEVICE, -1, SIZE };
	struct accel_memory pinned = { ACCEL_HOST_PINNED, -1, SIZE };
	struct accel *a = open_gpus("count=1");
	unsigned char *sent = malloc(SIZE), *back = calloc(1, SIZE);
	struct accel_region x = { 0 }, y = { 0 };
	struct accel_stream *s = NULL;
	size_t i;

	for (i = 0; a && i < SIZE; i++)
		sent[i] = (unsigned char)(i * 131 >> 3);
	if (a) {
		CHECK_EQ(ops->region_new(a, 0, &device, &x, NULL), 0);
		CHECK_EQ(ops->region_new(a, 0, &pinned, &y, NULL), 0);
		CHECK(!x.host_visible && y.host_visible);
		CHECK_EQ(ops->stream_new(a, 0, &s, NULL), 0);
		CHECK_EQ(ops->upload(&x, 0, sent, SIZE, NULL), 0);
		CHECK_EQ(ops->copy(s, (struct accel_at){ &y, 0 }, (struct accel_at){ &x, 0 }, SIZE,
				   NULL),
			 0);
		CHECK_EQ(ops->stream_wait(s, clock_mono_us() + 60 * USEC_PER_SEC, NULL), 0);
		CHECK_EQ(memcmp(sent, y.ptr, SIZE), 0);
		CHECK_EQ(ops->download(back, &x, 0, SIZE, NULL), 0);
		CHECK_EQ(memcmp(sent, back, SIZE), 0);
		CHECK_EQ(ops->upload(&x, 1, sent, SIZE, NULL), -ERANGE);
		CHECK_EQ(ops->download(back, &x, SIZE, 1, NULL), -ERANGE);
		CHECK_EQ(ops->copy(s, (struct accel_at){ &y, 2 }, (struct accel_at){ &x, 0 },
				   SIZE - 1, NULL),
			 -ERANGE);
		ops->stream_free(s);
		ops->region_free(&x);
		ops->region_free(&y);
		ops->close(a);
	}
	free(sent);
	free(back);
}

/* Behind an IOMMU that translates they are copied at other rates: what it was is told. */
static void memory_on_a_node_is_in_huge_pages_where_the_kernel_gives_them(void)
{
	static const struct {
		const char *mode;
		size_t size;
		const char *pages;
	} cases[] = {
		{ "always [madvise] never\n", 4 << 20, "registered-2M" },
		{ "[always] madvise never\n", (2 << 20) + 4096, "registered-2M" },
		{ "always [madvise] never\n", 1 << 20, "registered" },
		{ "always madvise [never]\n", 4 << 20, "registered" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct accel_memory memory = { ACCEL_HOST_PINNED, 0, cases[i].size };
		struct accel *a = open_gpus("count=1");
		struct accel_region x = { 0 };
		struct err err = ERR_INIT;

		if (!a)
			return;
		free(test_file("sys/kernel/mm/transparent_hugepage/enabled", cases[i].mode));
		if (ops->region_new(a, 0, &memory, &x, &err) < 0) {
			CHECK_HAS(err.msg, "cannot be bound");
			test_skip("this container may not bind memory to a node");
			ops->close(a);
			return;
		}
		CHECK_STR(x.pages, cases[i].pages);
		CHECK_EQ((uintptr_t)x.ptr % (2 << 20), 0);
		memset(x.ptr, 1, x.size); /* all of it is there */
		ops->region_free(&x);
		ops->close(a);
	}
}

static void a_full_stream_refuses_and_goes_on_after_a_wait(void)
{
	struct accel *a = open_gpus("count=1");
	struct accel_stream *s = NULL;
	struct accel_event *e = NULL;
	struct err err = ERR_INIT;
	unsigned i;

	if (!a)
		return;
	CHECK_EQ(ops->stream_new(a, 0, &s, NULL), 0);
	CHECK_EQ(ops->event_new(a, 0, &e, NULL), 0);
	CHECK_EQ(ops->event_wait(e, clock_mono_us(), &err), -EINVAL);
	for (i = 0; i < ops->queue_max; i++)
		CHECK_EQ(ops->event_record(e, s, &err), 0);
	CHECK_EQ(ops->event_record(e, s, &err), -EAGAIN);
	CHECK_EQ(ops->event_wait(e, clock_mono_us() + 60 * USEC_PER_SEC, &err), 0);
	CHECK_EQ(ops->event_record(e, s, &err), 0);
	CHECK_STR(ops->asked(a), "gpu:GPU-face0000-0000-0000-0000-000000000000");
	ops->stream_free(s);
	ops->event_free(e);
	ops->close(a);
}

static void products_fill_a_stream_by_their_kernels(void)
{
	static const struct {
		const char *gpus;
		unsigned kernels;
	} cases[] = {
		{ "count=1", 1 },
		{ "count=1 kernels=2", CUDA_PRODUCT_KERNELS_MAX },
		{ "count=1 kernels=3", CUDA_PRODUCT_KERNELS_MAX },
		{ "count=1 streamk=1", CUDA_PRODUCT_KERNELS_MAX }, /* seen by its workspace */
		{ "count=1 tells=0", CUDA_PRODUCT_KERNELS_MAX },   /* unknown */
	};
	const struct accel_gemm_shape shape = { 16, 16, 16, ACCEL_BF16, ACCEL_BF16 };
	const struct accel_memory memory = { ACCEL_DEVICE, -1, 4096 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct accel *a = open_gpus(cases[i].gpus);
		struct accel_region x = { 0 };
		struct accel_stream *s = NULL;
		struct accel_gemm *g = NULL;
		unsigned n;

		if (!a)
			return;
		CHECK_EQ(ops->region_new(a, 0, &memory, &x, NULL), 0);
		CHECK_EQ(ops->stream_new(a, 0, &s, NULL), 0);
		CHECK_EQ(ops->gemm_new(a, 0, &shape, &g, NULL), 0);
		CHECK_EQ(ops->gemm_pieces(g), cases[i].kernels);
		for (n = 0; ops->gemm_run(g, s, &x, &x, &x, NULL) == 0; n++)
			;
		CHECK_EQ(n, ops->queue_max / cases[i].kernels);
		ops->stream_free(s);
		ops->gemm_free(g);
		ops->region_free(&x);
		ops->close(a);
	}
}

static void memory_goes_to_an_rnic_by_peermem_when_there_is_no_dmabuf(void)
{
	struct accel_memory memory = { ACCEL_DEVICE, -1, 65536 };
	struct accel *a = open_gpus("count=1 nodmabuf=1");
	struct accel_export export = { .dmabuf_fd = -1 };
	struct accel_region x = { 0 };
	struct err err = ERR_INIT;

	if (!a)
		return;
	CHECK_EQ(ops->region_new(a, 0, &memory, &x, NULL), 0);
	CHECK_EQ(ops->region_export(&x, &export, &err), -ENOTSUP);
	CHECK_HAS(err.msg, "nvidia_peermem is not loaded");
	free(test_file("sys/module/nvidia_peermem/version", "1\n"));
	CHECK_EQ(ops->region_export(&x, &export, &err), 0);
	CHECK(export.peer_direct && export.dmabuf_fd == -1);
	CHECK_HAS(export.why, "no dmabuf: CUDA error 801");
	ops->region_free(&x);
	ops->close(a);
}

static void a_product_that_the_library_has_not_is_refused(void)
{
	static const struct {
		enum accel_dtype dtype, out;
		int r;
	} cases[] = {
		{ ACCEL_BF16, ACCEL_BF16, 0 },	    { ACCEL_BF16, ACCEL_F32, 0 },
		{ ACCEL_FP8, ACCEL_BF16, 0 },	    { ACCEL_FP8, ACCEL_FP8, -ENOTSUP },
		{ ACCEL_TF32, ACCEL_F32, 0 },	    { ACCEL_TF32, ACCEL_BF16, -ENOTSUP },
		{ ACCEL_F64, ACCEL_F32, -ENOTSUP }, { ACCEL_F64, ACCEL_F64, 0 },
		{ ACCEL_F32, ACCEL_F64, -ENOTSUP },
	};
	struct accel *a = open_gpus("count=1");
	size_t i;

	for (i = 0; a && i < ARRAY_SIZE(cases); i++) {
		struct accel_gemm_shape shape = { 16, 16, 16, cases[i].dtype, cases[i].out };
		struct accel_gemm *g = NULL;

		CHECK_EQ(ops->gemm_new(a, 0, &shape, &g, NULL), cases[i].r);
		ops->gemm_free(g);
	}
	if (a)
		ops->close(a);
}

static const struct test tests[] = {
	TEST(a_gpu_has_its_uuid_address_and_size),
	TEST(what_is_uploaded_and_copied_comes_back),
	TEST(memory_on_a_node_is_in_huge_pages_where_the_kernel_gives_them),
	TEST(a_full_stream_refuses_and_goes_on_after_a_wait),
	TEST(products_fill_a_stream_by_their_kernels),
	TEST(memory_goes_to_an_rnic_by_peermem_when_there_is_no_dmabuf),
	TEST(a_product_that_the_library_has_not_is_refused),
};

TEST_SUITE(tests);
