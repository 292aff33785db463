// SPDX-License-Identifier: Apache-2.0
// LD_PRELOADed into one rank of tests/job/run: its matrix products take 1.8 times as long. The
// library, its parameters and the scheduler stay what they are, so that nothing but the pace tells
// this host from another.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define SLOWER_PERCENT 80 // of each call, on top of it
#define NS_PER_S INT64_C(1000000000)

// What BLAS passes by reference stays untouched: all of it goes on as it came.
typedef void (*gemm)(const void *, const void *, const void *, const void *, const void *,
		     const void *, const void *, const void *, const void *, const void *,
		     const void *, void *, const void *);
// Of this thread alone: what others do on the processor does not count, and is not made 1.8 times as long.
static int64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void spin_since(int64_t begin)
{
	int64_t end = processor_ns();
	int64_t until = end + (end - begin) * SLOWER_PERCENT / 100;

	while (processor_ns() < until)
		;
}

// Python opens torch, and so BLAS, for itself alone: RTLD_NEXT does not see it.
static void *real(const char *name)
{
	void *blas = dlopen("libblas.so.3", RTLD_LAZY | RTLD_LOCAL);
	void *found = blas ? dlsym(blas, name) : NULL;

	if (!found)
		abort(); // a rank that ends is seen, one that is not slowed is not
	return found;
}

#define SLOW_GEMM(name)                                                                        \
	void name(const void *ta, const void *tb, const void *m, const void *n, const void *k, \
		  const void *alpha, const void *a, const void *lda, const void *b,            \
		  const void *ldb, const void *beta, void *c, const void *ldc);                \
	void name(const void *ta, const void *tb, const void *m, const void *n, const void *k, \
		  const void *alpha, const void *a, const void *lda, const void *b,            \
		  const void *ldb, const void *beta, void *c, const void *ldc)                 \
	{                                                                                      \
		static gemm known;                                                             \
		if (!known)                                                                    \
			known = (gemm)real(#name);                                             \
		int64_t begin = processor_ns();                                                \
		known(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                   \
		spin_since(begin);                                                             \
	}

SLOW_GEMM(sgemm_)
SLOW_GEMM(dgemm_)

#define SLOW_CBLAS(name, real_t)                                                                 \
	void name(int order, int ta, int tb, int m, int n, int k, real_t alpha, const real_t *a, \
		  int lda, const real_t *b, int ldb, real_t beta, real_t *c, int ldc);           \
	void name(int order, int ta, int tb, int m, int n, int k, real_t alpha, const real_t *a, \
		  int lda, const real_t *b, int ldb, real_t beta, real_t *c, int ldc)            \
	{                                                                                        \
		static void (*known)(int, int, int, int, int, int, real_t, const real_t *, int,  \
				     const real_t *, int, real_t, real_t *, int);                \
		if (!known)                                                                      \
			known = (__typeof__(known))real(#name);                                  \
		int64_t begin = processor_ns();                                                  \
		known(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);              \
		spin_since(begin);                                                               \
	}

SLOW_CBLAS(cblas_sgemm, float)
SLOW_CBLAS(cblas_dgemm, double)
