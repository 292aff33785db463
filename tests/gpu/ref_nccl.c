/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL with one rank and the suite's configuration: init, all-reduce, exchange,
 * teardown; then a communicator is aborted with work on it. Prints a line for
 * each step with its seconds and result.
 */
#include "probes/coll/nccl_abi.h"
#include "tests/gpu/ref.h"

enum { COUNT = 1 << 20, WAIT_S = 20, OPERATIONS = 64 };

static struct cuda_driver cu;
static struct nccl nccl;
static struct CUstream_st *stream;
static cuda_ptr from, to;

static void tell(const char *part, double begin, unsigned result)
{
	(void)printf("{\"part\":\"%s\",\"seconds\":%.6f,\"result\":%u}\n", part, ref_now() - begin,
		     result);
}

/* Waits for the final state of a non-blocking communicator. */
static unsigned settle(struct ncclComm *comm, unsigned result)
{
	double until = ref_now() + WAIT_S;

	while (result == NCCL_IN_PROGRESS && ref_now() < until) {
		ref_pause_us(1000);
		if (nccl.async_error(comm, &result) != NCCL_OK)
			return NCCL_INTERNAL_ERROR;
	}
	return result;
}

static struct ncclComm *begin_one(void)
{
	nccl_config config = { sizeof(config), NCCL_CONFIG_MAGIC, NCCL_VERSION_MIN, 0 };
	struct ncclComm *comm = NULL;
	double begin = ref_now();
	unsigned result;
	nccl_id id;

	REF_OK(nccl.get_id(&id));
	/* In a group, as for several GPUs: the communicator exists when the group ends. */
	REF_OK(nccl.group_start());
	result = nccl.init_rank(&comm, 1, id, 0, &config);
	if (result == NCCL_OK || result == NCCL_IN_PROGRESS)
		result = nccl.group_end();
	if (comm)
		result = settle(comm, result);
	tell("init", begin, result);
	return result == NCCL_OK ? comm : NULL;
}

static void end_one(struct ncclComm *comm)
{
	double begin = ref_now();

	tell("finalize", begin, settle(comm, nccl.finalize(comm)));
	begin = ref_now();
	tell("destroy", begin, nccl.destroy(comm));
}

static unsigned put_one(struct ncclComm *comm)
{
	unsigned result;

	REF_OK(nccl.group_start());
	result = nccl.all_reduce((const void *)(uintptr_t)from, (void *)(uintptr_t)to, COUNT,
				 NCCL_FLOAT32, NCCL_SUM, comm, stream);
	if (result == NCCL_OK || result == NCCL_IN_PROGRESS)
		result = nccl.group_end();
	return settle(comm, result);
}

static void reduce(struct ncclComm *comm)
{
	double begin = ref_now();
	unsigned result = put_one(comm);

	ref_wait(&cu, stream, WAIT_S);
	tell("all_reduce", begin, result);
}

/* Exchanges with ourselves: the output equals the input. */
static void exchange(struct ncclComm *comm)
{
	double begin = ref_now();
	unsigned result;

	REF_OK(nccl.group_start());
	REF_OK(nccl.send((const void *)(uintptr_t)from, COUNT, NCCL_FLOAT32, 0, comm, stream));
	REF_OK(nccl.receive((void *)(uintptr_t)to, COUNT, NCCL_FLOAT32, 0, comm, stream));
	result = settle(comm, nccl.group_end());
	ref_wait(&cu, stream, WAIT_S);
	tell("exchange", begin, result);
}

static void check(float *host)
{
	size_t i, wrong = 0;

	memset(host, 0, COUNT * sizeof(*host));
	REF_OK(cu.copy_async((cuda_ptr)(uintptr_t)host, to, COUNT * sizeof(*host), stream));
	ref_wait(&cu, stream, WAIT_S);
	for (i = 0; i < COUNT; i++)
		wrong += (double)host[i] < (double)i || (double)host[i] > (double)i;
	(void)printf("{\"wrong\":%zu}\n", wrong);
}

static void start(float **host)
{
	static const char *const names[] = { "libnccl.so.2", NULL };
	struct nccl *table = &nccl;
	const struct library_symbol symbols[] = { NCCL_FUNCTIONS(LIBRARY_SYMBOL) };
	struct CUctx_st *ctx = NULL;
	int version = 0, i;

	ref_load_driver(&cu);
	ref_find(ref_load("REF_LIBNCCL", names), symbols, REF_COUNT(symbols));
	REF_OK(nccl.get_version(&version));
	(void)printf("{\"version\":%d}\n", version);
	REF_OK(cu.init(0));
	REF_OK(cu.ctx_retain(&ctx, 0));
	REF_OK(cu.ctx_set(ctx));
	REF_OK(cu.stream_create(&stream, CUDA_STREAM_NON_BLOCKING));
	REF_OK(cu.mem_alloc(&from, COUNT * sizeof(**host)));
	REF_OK(cu.mem_alloc(&to, COUNT * sizeof(**host)));
	REF_OK(cu.host_alloc((void **)host, COUNT * sizeof(**host), CUDA_HOST_PORTABLE));
	for (i = 0; i < COUNT; i++)
		(*host)[i] = (float)i;
	REF_OK(cu.copy_async(from, (cuda_ptr)(uintptr_t)*host, COUNT * sizeof(**host), stream));
	ref_wait(&cu, stream, WAIT_S);
}

int main(void)
{
	struct ncclComm *comm;
	float *host = NULL;
	double begin;
	int i;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	start(&host);
	comm = begin_one();
	if (!comm)
		return 1;
	reduce(comm);
	exchange(comm);
	check(host);
	end_one(comm);
	comm = begin_one();
	if (!comm)
		return 1;
	for (i = 0; i < OPERATIONS; i++)
		(void)put_one(comm);
	begin = ref_now();
	tell("abort", begin, nccl.abort(comm));
	ref_wait(&cu, stream, WAIT_S);
	REF_OK(cu.mem_free(from));
	REF_OK(cu.mem_free(to));
	REF_OK(cu.host_free(host));
	REF_OK(cu.stream_destroy(stream));
	REF_OK(cu.ctx_release(0));
	return 0;
}
