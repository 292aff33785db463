/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of fake GPUs: host memory, with products computed when they are first read. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fakes/gpu_fake.h"

enum {
	PIECE_MIB = 1024,
	PIN_BYTES = 32 << 20,
	ALLOCATIONS_MAX = 256,
	ROTTEN = 4096 /* the byte with the bad bit of rot= */
};

struct allocation {
	char *ptr;
	size_t size;
	unsigned gpu;
	bool host, registered; /* host memory; registered: not allocated here */
	bool pending;	       /* its product is not computed yet */
	struct fake_product product;
};

static struct allocation allocations[ALLOCATIONS_MAX];
static unsigned read_back[FAKE_GPUS_MAX]; /* products */
static unsigned narrow[FAKE_GPUS_MAX];	  /* those of two bytes an element */

/* Guards `allocations`, not their contents: each is used by one thread. */
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static bool keep(const struct allocation *a)
{
	size_t i;

	(void)pthread_mutex_lock(&table);
	for (i = 0; i < ALLOCATIONS_MAX && allocations[i].ptr; i++)
		;
	if (i < ALLOCATIONS_MAX)
		allocations[i] = *a;
	(void)pthread_mutex_unlock(&table);
	fake_alive += i < ALLOCATIONS_MAX;
	return i < ALLOCATIONS_MAX;
}

static unsigned allocate(size_t size, unsigned gpu, bool host, char **ret)
{
	struct allocation a = { .size = size, .gpu = gpu, .host = host };

	/* Not zeroed, as on a GPU: a product that was never computed must not look right. */
	a.ptr = malloc(size);
	if (!a.ptr)
		return CUDA_OUT_OF_MEMORY;
	if (!keep(&a)) {
		free(a.ptr);
		return CUDA_OUT_OF_MEMORY;
	}
	*ret = a.ptr;
	return CUDA_OK;
}

static struct allocation *find(const void *ptr)
{
	struct allocation *found = NULL;
	const char *at = ptr;
	size_t i;

	(void)pthread_mutex_lock(&table);
	for (i = 0; i < ALLOCATIONS_MAX && !found; i++) {
		if (allocations[i].ptr && at >= allocations[i].ptr &&
		    at < allocations[i].ptr + allocations[i].size)
			found = &allocations[i];
	}
	(void)pthread_mutex_unlock(&table);
	return found;
}

static unsigned release(void *ptr, const char *call)
{
	struct allocation *a = find(ptr);

	fake_block(call, a ? (long)a->gpu : FAKE_NO_GPU);
	if (!a || a->ptr != ptr)
		return CUDA_INVALID_VALUE;
	if (!a->registered)
		free(a->ptr);
	(void)pthread_mutex_lock(&table);
	*a = (struct allocation){ 0 };
	(void)pthread_mutex_unlock(&table);
	fake_alive--;
	return CUDA_OK;
}

static void pin(size_t size)
{
	size_t done;

	for (done = 0; done < size; done += PIN_BYTES)
		fake_take("pinms");
}

unsigned cuMemAlloc_v2(cuda_ptr *ptr, size_t size)
{
	const size_t piece = (size_t)fake_setting("piece", PIECE_MIB) << 20;
	char *memory = NULL;
	unsigned gpu = 0, result = fake_enter(&gpu);

	fake_wait_for_driver();
	if (result == CUDA_OK)
		result = fake_is("full", gpu) || size > piece ? CUDA_OUT_OF_MEMORY
							      : allocate(size, gpu, false, &memory);
	*ptr = (cuda_ptr)(uintptr_t)memory;
	return result;
}

unsigned cuMemFree_v2(cuda_ptr ptr)
{
	return release((void *)(uintptr_t)ptr, __func__);
}

unsigned cuMemGetInfo_v2(size_t *available, size_t *total)
{
	unsigned gpu = 0;

	fake_block(__func__, FAKE_NO_GPU);
	*total = (size_t)1 << 36;
	*available = fake_enter(&gpu) == CUDA_OK && fake_is("full", gpu) ? (size_t)3 << 20 : *total;
	return CUDA_OK;
}

unsigned cuMemHostAlloc(void **ptr, size_t size, unsigned flags)
{
	char *memory = NULL;
	unsigned gpu = 0, result = fake_enter(&gpu);

	(void)flags;
	if (result == CUDA_OK)
		pin(size);
	if (result == CUDA_OK)
		result = allocate(size, gpu, true, &memory);
	*ptr = memory;
	return result;
}

unsigned cuMemFreeHost(void *ptr)
{
	return release(ptr, __func__);
}

unsigned cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags)
{
	struct allocation a = { .ptr = ptr, .size = size, .host = true, .registered = true };
	unsigned result = fake_enter(&a.gpu);

	if (result != CUDA_OK || flags != CUDA_HOST_PORTABLE)
		return result != CUDA_OK ? result : (unsigned)CUDA_INVALID_VALUE;
	if (fake_setting("cc", 0))
		return CUDA_NOT_SUPPORTED;
	pin(size);
	return keep(&a) ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

unsigned cuMemHostUnregister(void *ptr)
{
	return release(ptr, __func__);
}

/* Is the result that is being read to be corrupted? */
static bool is_wrong(unsigned gpu, bool is_narrow)
{
	enum { ODD = 2 };
	unsigned n = read_back[gpu]++, n_narrow = narrow[gpu];

	narrow[gpu] += is_narrow;
	if (fake_is("wrong", gpu) || (fake_is("once", gpu) && n == 0))
		return true;
	return is_narrow && (fake_is("odd", gpu) || fake_is("other", gpu) ||
			     (fake_is("odd1", gpu) && n_narrow == ODD));
}

/* Flips the second highest bit of the mantissa. */
static void flip(struct allocation *a, bool is_narrow, size_t element)
{
	size_t size = is_narrow ? 2 : a->product.d.type == LT_R_64F ? 8 : 4;
	unsigned bit = is_narrow ? 5 : a->product.d.type == LT_R_64F ? 50 : 21;

	a->ptr[size * element + bit / 8] ^= (char)(1U << bit % 8);
}

/* Computes a pending product and injects the fault. */
static void settle(struct allocation *a)
{
	bool is_narrow = a->product.d.type == LT_R_16BF;

	a->pending = false;
	fake_multiply(&a->product);
	/* Row 1, column 2 of D by rows. */
	if (is_wrong(a->gpu, is_narrow))
		flip(a, is_narrow, a->product.d.rows + 2);
	if (is_narrow && fake_setting("loose", 0))
		flip(a, is_narrow, (narrow[a->gpu] * FAKE_GPUS_MAX + a->gpu) % a->product.d.rows);
}

/* Applies the bad bit of rot= to data read from an allocation at `offset`. */
static void rot(const struct allocation *a, char *read, size_t offset, size_t size)
{
	if (a->size > ROTTEN && offset <= ROTTEN && ROTTEN < offset + size)
		read[ROTTEN - offset] ^= 4;
}

/* Returns the factor of a copy's rate, relative to its GPU's: depends on the links it crosses. */
static double way(const struct allocation *source, const struct allocation *target)
{
	static const double slow = 0.75;
	double part = 1;

	if (!source || !target)
		return part;
	if (source->host && !target->host && fake_is("slowin", target->gpu))
		part *= slow;
	if (!source->host && target->host && fake_is("slowout", source->gpu))
		part *= slow;
	if (!source->host && !target->host && source->gpu != target->gpu &&
	    fake_setting("slowpair", -1) == 10L * source->gpu + target->gpu)
		part *= slow;
	if (!source->host && !target->host && source->gpu == target->gpu)
		part *= (double)fake_setting("hbm", 1);
	return part;
}

bool fake_memory_keeps(const void *at, size_t size)
{
	const struct allocation *a = find(at);
	long keep = fake_setting("keep", 0);

	return !keep || !a || (size_t)((const char *)at - a->ptr) + size <= (size_t)keep << 20;
}

unsigned cuMemcpyAsync(cuda_ptr to, cuda_ptr from, size_t size, struct CUstream_st *stream)
{
	struct allocation *source = find((const void *)(uintptr_t)from);
	struct allocation *target = find((const void *)(uintptr_t)to);
	unsigned result = fake_enter_as(fake_stream_gpu(stream));

	if (result == CUDA_OK)
		result = fake_put_copy(stream, (double)size / way(source, target));
	if (result != CUDA_OK)
		return result;
	if (!source || !target || from + size > (uintptr_t)source->ptr + source->size ||
	    to + size > (uintptr_t)target->ptr + target->size)
		return CUDA_INVALID_VALUE;
	if (source->pending)
		settle(source);
	target->pending = false;
	if (!fake_memory_keeps((const void *)(uintptr_t)to, size))
		return CUDA_OK;
	memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
	if (!source->host && fake_is("rot", source->gpu))
		rot(source, (char *)(uintptr_t)to, from - (uintptr_t)source->ptr, size);
	return CUDA_OK;
}

unsigned fake_memory_expect(const struct fake_product *p)
{
	struct allocation *out = find(p->d_at);

	if (!out)
		return CUDA_INVALID_VALUE;
	out->pending = true;
	out->product = *p;
	return CUDA_OK;
}

/* Returns a file instead of a dmabuf: its users only look at the descriptor. */
unsigned cuMemGetHandleForAddressRange(void *handle, cuda_ptr ptr, size_t size, unsigned type,
				       unsigned long long flags)
{
	const struct allocation *a = find((const void *)(uintptr_t)ptr);
	unsigned gpu = 0, result = fake_enter(&gpu);
	int fd;

	if (result != CUDA_OK)
		return result;
	if (fake_setting("cc", 0))
		return CUDA_NOT_SUPPORTED;
	if (!a || a->host || size > a->size || type != CUDA_HANDLE_DMABUF_FD || flags)
		return CUDA_INVALID_VALUE;
	fd = memfd_create("fake dmabuf", MFD_CLOEXEC);
	if (fd < 0)
		return CUDA_UNKNOWN;
	memcpy(handle, &fd, sizeof(fd));
	return CUDA_OK;
}

unsigned cuPointerSetAttribute(const void *value, unsigned attribute, cuda_ptr ptr)
{
	const struct allocation *a = find((const void *)(uintptr_t)ptr);
	unsigned gpu = 0, result = fake_enter(&gpu), yes = 0;

	if (result == CUDA_OK)
		memcpy(&yes, value, sizeof(yes));
	if (result == CUDA_OK && (!a || a->host || attribute != CUDA_POINTER_SYNC_MEMOPS || !yes))
		return CUDA_INVALID_VALUE;
	return result;
}
