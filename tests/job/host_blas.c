// SPDX-License-Identifier: Apache-2.0
// LD_PRELOADed into all programs of a host of tests/job: its matrix products take SLOWER_PERCENT
// longer than they would, and with PACED never less than a given time. The library, its parameters
// and the scheduler stay what they are, so that nothing but the pace tells this host from another.
//
// Why PACED: a virtual processor is half as fast while somebody else's computes on the other thread
// of its core, for a second or a minute, and nothing tells it so, steal neither. Hosts that are to
// be alike are given a pace that the processor reaches in either case.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifndef SLOWER_PERCENT
#define SLOWER_PERCENT 0 // of each call, on top of it
#endif
#ifndef PACED
#define PACED 0
#endif

#define NS_PER_S INT64_C(1000000000)
// Operations in a nanosecond: SSE does twice as many, of float four times.
#define PACE_DOUBLE 5.0
#define PACE_FLOAT 10.0

// What BLAS passes by reference goes on as it came.
typedef void (*gemm)(const void *, const void *, const void *, const void *, const void *,
		     const void *, const void *, const void *, const void *, const void *,
		     const void *, void *, const void *);

// Of this thread alone: what others do on the processor does not count, and is not made longer.
static int64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t least_ns(int m, int n, int k, double pace)
{
	return PACED ? (int64_t)(2.0 * m * n * k / pace) : 0;
}

static void spin_since(int64_t begin, int64_t least)
{
	int64_t took = processor_ns() - begin;
	int64_t until = begin + (took > least ? took : least) * (100 + SLOWER_PERCENT) / 100;

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

#define HOST_GEMM(name, pace)                                                                  \
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
		spin_since(begin,                                                              \
			   least_ns(*(const int *)m, *(const int *)n, *(const int *)k, pace)); \
	}

HOST_GEMM(sgemm_, PACE_FLOAT)
HOST_GEMM(dgemm_, PACE_DOUBLE)

#define HOST_CBLAS(name, real_t, pace)                                                           \
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
		spin_since(begin, least_ns(m, n, k, pace));                                      \
	}

HOST_CBLAS(cblas_sgemm, float, PACE_FLOAT)
HOST_CBLAS(cblas_dgemm, double, PACE_DOUBLE)
