/* SPDX-License-Identifier: Apache-2.0 */
/* The fake cuBLASLt: it rejects what the real one would, and runs products on the fake GPUs. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/gpu_fake.h"

struct lt_handle {
	int unused;
};

struct lt_desc {
	unsigned compute, scale;
	int32_t operation_a;
};

struct lt_layout {
	struct fake_matrix matrix;
};

struct lt_preference {
	uint64_t workspace;
};

/* Allocates each object separately, so that the leak checker of a sanitized build finds leaks. */
static unsigned make(size_t size, void **ret)
{
	*ret = calloc(1, size);
	return *ret ? LT_OK : LT_ALLOC_FAILED;
}

unsigned cublasLtCreate(lt_handle *handle)
{
	fake_take("ltms");
	return make(sizeof(**handle), (void **)handle);
}

unsigned cublasLtDestroy(lt_handle handle)
{
	free(handle);
	return LT_OK;
}

size_t cublasLtGetVersion(void)
{
	return 130100;
}

unsigned cublasLtMatmulDescCreate(lt_desc *desc, unsigned compute, unsigned scale)
{
	unsigned status = make(sizeof(**desc), (void **)desc);

	if (status == LT_OK)
		**desc = (struct lt_desc){ compute, scale, LT_OP_N };
	return status;
}

unsigned cublasLtMatmulDescDestroy(lt_desc desc)
{
	free(desc);
	return LT_OK;
}

unsigned cublasLtMatmulDescSetAttribute(lt_desc desc, unsigned attribute, const void *value,
					size_t size)
{
	if (attribute != LT_DESC_TRANSA || size != sizeof(desc->operation_a))
		return LT_INVALID_VALUE;
	memcpy(&desc->operation_a, value, size);
	return LT_OK;
}

unsigned cublasLtMatrixLayoutCreate(lt_layout *layout, unsigned type, uint64_t rows,
				    uint64_t columns, int64_t leading)
{
	unsigned status = make(sizeof(**layout), (void **)layout);

	if (status == LT_OK)
		(*layout)->matrix = (struct fake_matrix){ type, rows, columns, leading };
	return status;
}

unsigned cublasLtMatrixLayoutDestroy(lt_layout layout)
{
	free(layout);
	return LT_OK;
}

unsigned cublasLtMatmulPreferenceCreate(lt_preference *preference)
{
	return make(sizeof(**preference), (void **)preference);
}

unsigned cublasLtMatmulPreferenceDestroy(lt_preference preference)
{
	free(preference);
	return LT_OK;
}

unsigned cublasLtMatmulPreferenceSetAttribute(lt_preference preference, unsigned attribute,
					      const void *value, size_t size)
{
	if (attribute != LT_PREF_MAX_WORKSPACE || size != sizeof(preference->workspace))
		return LT_INVALID_VALUE;
	memcpy(&preference->workspace, value, size);
	return LT_OK;
}

/* The table of supported type combinations of cublasLtMatmul(). */
static bool is_supported(const struct lt_desc *desc, const struct fake_product *p)
{
	static const struct {
		unsigned factors, result, compute, scale;
	} table[] = {
		{ LT_R_16BF, LT_R_16BF, LT_COMPUTE_32F, LT_R_32F },
		{ LT_R_16BF, LT_R_32F, LT_COMPUTE_32F, LT_R_32F },
		{ LT_R_8F_E4M3, LT_R_16BF, LT_COMPUTE_32F, LT_R_32F },
		{ LT_R_8F_E4M3, LT_R_32F, LT_COMPUTE_32F, LT_R_32F },
		{ LT_R_32F, LT_R_32F, LT_COMPUTE_32F, LT_R_32F },
		{ LT_R_32F, LT_R_32F, LT_COMPUTE_32F_FAST_TF32, LT_R_32F },
		{ LT_R_64F, LT_R_64F, LT_COMPUTE_64F, LT_R_64F },
	};
	size_t i;

	if (p->a.type == LT_R_8F_E4M3 && !p->a_transposed)
		return false;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (p->a.type == table[i].factors && p->b.type == table[i].factors &&
		    p->d.type == table[i].result && desc->compute == table[i].compute &&
		    desc->scale == table[i].scale)
			return true;
	}
	return false;
}

static bool make_product(const struct lt_desc *desc, lt_layout a, lt_layout b, lt_layout d,
			 struct fake_product *ret)
{
	struct fake_product p = { .a = a->matrix, .b = b->matrix, .d = d->matrix };
	uint64_t rows, inner;

	p.a_transposed = desc->operation_a == LT_OP_T;
	rows = p.a_transposed ? p.a.columns : p.a.rows;
	inner = p.a_transposed ? p.a.rows : p.a.columns;
	*ret = p;
	return rows == p.d.rows && inner == p.b.rows && p.b.columns == p.d.columns &&
	       p.a.leading >= (int64_t)p.a.rows && p.b.leading >= (int64_t)p.b.rows &&
	       p.d.leading >= (int64_t)p.d.rows;
}

unsigned cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_desc desc, lt_layout a, lt_layout b,
					lt_layout c, lt_layout d, lt_preference preference,
					int wanted, lt_heuristic results[], int *n)
{ /* lint: allow parameters: the library's own */
	struct fake_product p;

	*n = 0;
	if (!handle || !preference->workspace || wanted < 1 || c != d ||
	    !make_product(desc, a, b, d, &p))
		return LT_INVALID_VALUE;
	if (!is_supported(desc, &p))
		return LT_NOT_SUPPORTED;
	results[0] = (lt_heuristic){ .algo.data = { 66 },
				     .workspace_bytes = fake_kernels() > 1 ? 1 << 20 : 0,
				     .state = LT_OK };
	*n = 1;
	return LT_OK;
}

unsigned cublasLtMatmulAlgoConfigGetAttribute(const lt_algo *algo, unsigned attribute, void *value,
					      size_t size, size_t *written)
{
	const bool split = fake_setting("kernels", 1) > 1;
	const uint32_t numbers[] = {
		[LT_CONFIG_ID] = (uint32_t)algo->data[0],
		[LT_CONFIG_TILE] = 1,
		[LT_CONFIG_SPLIT_K] = split ? 4 : 1,
		[LT_CONFIG_REDUCTION] = split ? LT_REDUCTION_COMPUTE : LT_REDUCTION_NONE,
		[LT_CONFIG_SWIZZLE] = 4,
		[LT_CONFIG_CUSTOM] = 5,
		[LT_CONFIG_STAGES] = 6,
		[LT_CONFIG_INNER] = 7,
		[LT_CONFIG_CLUSTER] = 8,
	};
	uint32_t number;

	if (attribute > LT_CONFIG_CLUSTER || size > sizeof(number) ||
	    (attribute != LT_CONFIG_ID && !fake_setting("tells", 1)))
		return LT_INVALID_VALUE;
	number = numbers[attribute];
	memcpy(value, &number, size); /* little-endian */
	*written = size;
	return LT_OK;
}

unsigned cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a,
			lt_layout a_layout, const void *b, lt_layout b_layout, const void *beta,
			const void *c, lt_layout c_layout, void *d, lt_layout d_layout,
			const lt_algo *algo, void *workspace, size_t size,
			struct CUstream_st *stream)
{ /* lint: allow parameters: the library's own */
	bool wide = desc->scale == LT_R_64F;
	double one = wide ? *(const double *)alpha : *(const float *)alpha;
	double zero = wide ? *(const double *)beta : *(const float *)beta;
	struct fake_product p;
	unsigned result;

	if (!handle || c != d || c_layout != d_layout || !workspace || !size ||
	    algo->data[0] != 66 || one != 1 || zero != 0 ||
	    !make_product(desc, a_layout, b_layout, d_layout, &p))
		return LT_INVALID_VALUE;
	p.a_at = a;
	p.b_at = b;
	p.d_at = d;
	result = fake_put_product(stream, &p);
	return result == CUDA_OK ? LT_OK : LT_EXECUTION_FAILED;
}
