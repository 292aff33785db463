/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what starting and ending with GPU 0 costs a process, and whether its
 * memory can be exported to an RNIC. Prints a line for each step with its
 * seconds, and one for each size exported as a dmabuf.
 */
#include <unistd.h>

#include "tests/gpu/ref.h"

static struct cuda_driver cu;

static void tell(const char *part, double begin, unsigned result)
{
	(void)printf("{\"part\":\"%s\",\"seconds\":%.6f,\"result\":%u}\n", part, ref_now() - begin,
		     result);
}

static void export_one(size_t size)
{
	unsigned exported, set = 0, one = 1;
	cuda_ptr ptr = 0;
	int fd = -1;

	REF_OK(cu.mem_alloc(&ptr, size));
	exported = cu.mem_handle ? cu.mem_handle(&fd, ptr, size, CUDA_HANDLE_DMABUF_FD, 0)
				 : (unsigned)CUDA_NOT_SUPPORTED;
	if (cu.pointer_set)
		set = cu.pointer_set(&one, CUDA_POINTER_SYNC_MEMOPS, ptr);
	(void)printf("{\"dmabuf\":%zu,\"result\":%u,\"sync_memops\":%u}\n", size, exported, set);
	if (exported == CUDA_OK)
		(void)close(fd);
	REF_OK(cu.mem_free(ptr));
}

int main(void)
{
	static const size_t sizes[] = { (size_t)64 << 20, ((size_t)64 << 20) + 4096, 12345 };
	struct CUctx_st *ctx = NULL;
	int has = 0, version = 0;
	double begin = ref_now();
	unsigned result;
	size_t i;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	ref_load_driver(&cu);
	REF_OK(cu.driver_version(&version));
	tell("load", begin, 0);
	begin = ref_now();
	result = cu.init(0);
	tell("cuInit", begin, result);
	ref_ok(result, "cuInit");
	begin = ref_now();
	REF_OK(cu.ctx_retain(&ctx, 0));
	tell("context", begin, 0);
	REF_OK(cu.ctx_set(ctx));
	REF_OK(cu.device_attribute(&has, CUDA_ATTRIBUTE_DMABUF, 0));
	(void)printf("{\"driver\":%d,\"dmabuf_attribute\":%d}\n", version, has);
	for (i = 0; i < REF_COUNT(sizes); i++)
		export_one(sizes[i]);
	begin = ref_now();
	REF_OK(cu.ctx_release(0));
	tell("context gone", begin, 0);
	return 0;
}
