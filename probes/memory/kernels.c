/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

const unsigned kernel_element_bytes[KERNEL_CHECKS] = {
	[KERNEL_READ] = 24, /* all three arrays */
	[KERNEL_WRITE] = 24,
	[KERNEL_COPY] = 16,
	[KERNEL_TRIAD] = 24,
};

static bool always(void)
{
	return true;
}

#define ROW(isa, how, when)                                                   \
	{                                                                     \
		.name = #isa, .stores = (how), .supported = (when), .loop = { \
			isa##_read,                                           \
			isa##_write,                                          \
			isa##_copy,                                           \
			isa##_triad                                           \
		}                                                             \
	}

#if defined(__x86_64__)

/* Unsigned, so that sums may wrap. */
typedef uint64_t words_16 __attribute__((vector_size(16), may_alias));
typedef uint64_t words_32 __attribute__((vector_size(32), may_alias));
typedef uint64_t words_64 __attribute__((vector_size(64), may_alias));

#define TARGET __attribute__((target("avx512f")))
#define NAME(loop) avx512f_##loop
#define VECTOR __m512d
#define WORDS words_64
#define STREAM(at, v) _mm512_stream_pd((double *)(at), (v))
#include "probes/memory/kernels.inc"
#undef TARGET
#undef NAME
#undef VECTOR
#undef WORDS
#undef STREAM

#define TARGET __attribute__((target("avx2")))
#define NAME(loop) avx2_##loop
#define VECTOR __m256d
#define WORDS words_32
#define STREAM(at, v) _mm256_stream_pd((double *)(at), (v))
#include "probes/memory/kernels.inc"
#undef TARGET
#undef NAME
#undef VECTOR
#undef WORDS
#undef STREAM

#define TARGET
#define NAME(loop) sse2_##loop
#define VECTOR __m128d
#define WORDS words_16
#define STREAM(at, v) _mm_stream_pd((double *)(at), (v))
#include "probes/memory/kernels.inc"

static bool has_avx512f(void)
{
	return __builtin_cpu_supports("avx512f");
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct kernel kernels[] = {
	ROW(avx512f, "nontemporal", has_avx512f),
	ROW(avx2, "nontemporal", has_avx2),
	ROW(sse2, "nontemporal", always),
};

void kernel_fence(void)
{
	_mm_sfence();
}

void kernel_flush(const void *at, size_t bytes)
{
	const char *line = at;
	size_t i;

	_mm_mfence();
	for (i = 0; i < bytes; i += 64)
		_mm_clflush(line + i);
	_mm_mfence();
}

#else

/* Compiler vectors for any CPU; there is no portable non-temporal store. */
typedef double generic_vector __attribute__((vector_size(16), may_alias));
typedef uint64_t generic_words __attribute__((vector_size(16), may_alias));

#define TARGET
#define NAME(loop) generic_##loop
#define VECTOR generic_vector
#define WORDS generic_words
#define STREAM(at, v) (*(at) = (v))
#include "probes/memory/kernels.inc"

const struct kernel kernels[] = {
	ROW(generic, "temporal", always),
};

void kernel_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#if defined(__aarch64__)

void kernel_flush(const void *at, size_t bytes)
{
	const char *line = at;
	size_t i;

	for (i = 0; i < bytes; i += 64)
		__asm__ volatile("dc civac, %0" : : "r"(line + i) : "memory");
	__asm__ volatile("dsb sy" : : : "memory");
}

#else

void kernel_flush(const void *at UNUSED, size_t bytes UNUSED)
{
}

#endif

#endif

const size_t n_kernels = ARRAY_SIZE(kernels);

const struct kernel *kernel_best(void)
{
	size_t i = 0;

	while (!kernels[i].supported())
		i++;
	return &kernels[i];
}
