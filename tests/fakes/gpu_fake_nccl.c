/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake NCCL: non-blocking communicators, all in one process. The operations
 * of a group run when the group ends: data moves at once, and the time is added
 * to the streams from the moment the last participating stream is free. Or one
 * communicator in each of several processes (gpu_fake_hosts.h), whose all-reduces
 * stay in progress until all ranks have joined.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "probes/coll/nccl_abi.h"
#include "tests/fakes/gpu_fake.h"
#include "tests/fakes/gpu_fake_hosts.h"
#include "tests/unit/random.h"

#define DECLARE(needed, result, member, symbol, parameters) result symbol parameters;
NCCL_FUNCTIONS(DECLARE)

enum { READY_NS = 300000000, PUT_MAX = 1024, ID_BYTE = 7, OF_HOSTS = 8 };

#define HOSTS_BYTES_PER_NS 50.0 /* 400 Gb/s */

static const double spread = 0.002, launch_ns = 5000;

struct ncclComm {
	int rank, n;
	double ready_ns;
	unsigned state;		    /* its asynchronous error */
	struct CUstream_st *stream; /* of its latest operation */
	struct fake_hosts *hosts;   /* NULL: all ranks are in this process */
	bool meeting, reducing;	    /* with hosts: ranks are missing; an operation is running */
	double bytes;		    /* of that operation */
};

enum kind { SEND, RECEIVE, ALL_TO_ALL, ALL_REDUCE };

struct put {
	enum kind kind;
	const char *from;
	char *to;
	size_t bytes; /* of a block of an all-to-all */
	int peer;
	struct ncclComm *comm;
	struct CUstream_st *stream;
};

static struct put works[PUT_MAX];
static unsigned n_works, depth, n_inits;
static struct ncclComm *comms[FAKE_GPUS_MAX];
static long n_operations;
static pthread_mutex_t aborts = PTHREAD_MUTEX_INITIALIZER;

unsigned ncclGetVersion(int *version)
{
	*version = (int)fake_setting("nccl", 22809);
	return NCCL_OK;
}

/* Prints NCCL's environment variables, for a test that asks. */
static void tell_environment(void)
{
	static const char *const names[] = { "NCCL_IB_TIMEOUT",	  "NCCL_RAS_ENABLE",
					     "NCCL_IB_HCA",	  "NCCL_IB_TC",
					     "NCCL_IB_GID_INDEX", "NCCL_ALGO",
					     "NCCL_PROTO",	  "NCCL_NET",
					     "NCCL_MNNVL_ENABLE" };
	const char *path = getenv("ASSAY_FAKE_NCCL_TOLD");
	FILE *out = path ? fopen(path, "we") : NULL;
	size_t i;

	for (i = 0; out && i < ARRAY_SIZE(names); i++) {
		if (getenv(names[i]))
			(void)fprintf(out, "%s=%s\n", names[i], getenv(names[i]));
	}
	if (out)
		(void)fclose(out);
}

unsigned ncclGetUniqueId(nccl_id *id)
{
	tell_environment();
	memset(id, ID_BYTE, sizeof(*id));
	if (fake_hosts_begin(&id->bytes[1], sizeof(*id) - 1))
		id->bytes[0] = OF_HOSTS;
	return NCCL_OK;
}

const char *ncclGetErrorString(unsigned result)
{
	return result == NCCL_CUDA_ERROR     ? "unhandled cuda error"
	       : result == NCCL_REMOTE_ERROR ? "remote process exited or there was a network error"
					     : "internal error";
}

const char *ncclGetLastError(struct ncclComm *comm)
{
	return comm && comm->state == NCCL_CUDA_ERROR ? "the fake was told to\nfile.cc:1" : "";
}

/* In one process, ranks are GPUs; across processes each has one rank, on any GPU. */
unsigned ncclCommInitRankConfig(struct ncclComm **comm, int n, nccl_id id, int rank,
				nccl_config *config)
{
	const bool of_hosts = id.bytes[0] == OF_HOSTS;
	struct fake_hosts *hosts = NULL;
	unsigned gpu = 0;

	if (config->magic != NCCL_CONFIG_MAGIC || config->size != sizeof(*config) ||
	    config->blocking != 0 || (!of_hosts && id.bytes[0] != ID_BYTE) ||
	    fake_enter(&gpu) != CUDA_OK || (!of_hosts && gpu != (unsigned)rank) || !depth ||
	    n > FAKE_GPUS_MAX)
		return NCCL_INVALID_ARGUMENT;
	if (of_hosts)
		hosts = fake_hosts_join(&id.bytes[1], n, rank);
	if (of_hosts && !hosts)
		return NCCL_SYSTEM_ERROR;
	*comm = calloc(1, sizeof(**comm));
	**comm = (struct ncclComm){ .rank = rank,
				    .n = n,
				    .ready_ns = (double)INFINITY,
				    .hosts = hosts,
				    .meeting = of_hosts };
	comms[rank] = *comm;
	fake_alive++;
	n_inits++;
	return NCCL_OK;
}

unsigned ncclGroupStart(void)
{
	depth++;
	return NCCL_OK;
}

/* With several processes, progress happens here. */
static void turn_hosts(struct ncclComm *comm)
{
	if (comm->meeting && fake_hosts_all_here(comm->hosts)) {
		comm->meeting = false;
		comm->ready_ns = fake_now_ns() + READY_NS;
	}
	if (!comm->reducing || !fake_hosts_turn(comm->hosts, fake_setting("wrongsum", 0)))
		return;
	comm->reducing = false;
	comm->ready_ns = fake_now_ns() + launch_ns;
	fake_stream_set_end_ns(comm->stream, comm->ready_ns + comm->bytes / HOSTS_BYTES_PER_NS);
}

unsigned ncclCommGetAsyncError(struct ncclComm *comm, unsigned *result)
{
	if (comm->hosts)
		turn_hosts(comm);
	*result = comm->ready_ns > fake_now_ns() ? (unsigned)NCCL_IN_PROGRESS : comm->state;
	return NCCL_OK;
}

unsigned ncclCommFinalize(struct ncclComm *comm)
{
	comm->ready_ns = fake_now_ns() + launch_ns;
	return NCCL_IN_PROGRESS;
}

unsigned ncclCommDestroy(struct ncclComm *comm)
{
	comms[comm->rank] = NULL;
	if (comm->hosts)
		fake_hosts_leave(comm->hosts);
	free(comm);
	fake_alive--;
	return NCCL_OK;
}

/* Kernels that wait for peers poll an abort flag; a GPU that hangs does not. */
unsigned ncclCommAbort(struct ncclComm *comm)
{
	unsigned gpu = (unsigned)comm->rank, result;

	while (fake_is("abortstuck", gpu))
		(void)pause();
	(void)pthread_mutex_lock(&aborts);
	if (comm->stream && !fake_is("late", gpu) && !fake_is("frozen", gpu) &&
	    isinf(fake_stream_begin_ns(comm->stream)))
		fake_stream_set_end_ns(comm->stream, fake_now_ns());
	result = ncclCommDestroy(comm);
	(void)pthread_mutex_unlock(&aborts);
	return result;
}

static unsigned add(const struct put *p)
{
	if (!depth || n_works == PUT_MAX || p->comm->ready_ns > fake_now_ns())
		return NCCL_INVALID_USAGE;
	works[n_works++] = *p;
	return NCCL_OK;
}

unsigned ncclSend(const void *from, size_t count, unsigned type, int peer, struct ncclComm *comm,
		  struct CUstream_st *stream)
{
	(void)type;
	return add(&(struct put){ SEND, from, NULL, count * sizeof(float), peer, comm, stream });
}

unsigned ncclRecv(void *to, size_t count, unsigned type, int peer, struct ncclComm *comm,
		  struct CUstream_st *stream)
{
	(void)type;
	return add(&(struct put){ RECEIVE, NULL, to, count * sizeof(float), peer, comm, stream });
}

unsigned ncclAlltoAll(const void *from, void *to, size_t count, unsigned type,
		      struct ncclComm *comm, struct CUstream_st *stream)
{
	(void)type;
	return add(&(struct put){ ALL_TO_ALL, from, to, count * sizeof(float), 0, comm, stream });
}

unsigned ncclAllReduce(const void *from, void *to, size_t count, unsigned type, unsigned operation,
		       struct ncclComm *comm, struct CUstream_st *stream)
{ /* lint: allow parameters: the library's own */
	(void)type;
	(void)operation;
	return add(&(struct put){ ALL_REDUCE, from, to, count * sizeof(float), 0, comm, stream });
}

/* Compares a few samples: a repeated operation finds its data already in place. */
static bool looks_moved(const char *source, const char *target, size_t bytes)
{
	enum { PLACES = 64, WORD = 8 };
	size_t step = bytes / PLACES, i;

	for (i = 0; step >= WORD && i < PLACES; i++) {
		if (memcmp(source + i * step, target + i * step, WORD) != 0)
			return false;
	}
	return step >= WORD;
}

static bool is_path(const char *fault, const struct put *from, const struct put *to)
{
	return fake_setting(fault, -1) == 10L * from->comm->rank + to->comm->rank;
}

static void move(const struct put *from, const struct put *to, const char *source, char *target,
		 size_t bytes)
{
	if (isinf(fake_stream_begin_ns(from->stream)) || !fake_memory_keeps(target, bytes))
		return;
	if (fake_setting("lazy", 0) && looks_moved(source, target, bytes))
		return;
	memcpy(target, source, bytes);
	if (is_path("damage", from, to) || (is_path("damage1", from, to) && n_operations == 0))
		target[bytes / 2 + 2] ^= 1;
}

/* The rate of the GPU's links and of the path. */
static double link_rate(const struct put *p)
{
	unsigned gpu = (unsigned)p->comm->rank;
	double links = (double)fake_setting("links", 18);
	double rate = FAKE_LINK_BYTES_PER_US * 1e-3;

	if (fake_is("thin", gpu))
		rate *= 0.9;
	return fake_is("linkdown", gpu) ? rate * (links - 1) / links : rate;
}

static double path_ns(const struct put *from, const struct put *to, size_t bytes)
{
	double rate = fmin(link_rate(from), link_rate(to));

	return (double)bytes / (is_path("path", from, to) ? rate / 2 : rate);
}

static double all_to_all_ns(void)
{
	double longest = 0;
	unsigned i, j;

	for (i = 0; i < n_works; i++) {
		double out = 0;

		for (j = 0; j < n_works; j++) {
			if (i != j)
				out += path_ns(&works[i], &works[j], works[i].bytes);
		}
		longest = fmax(longest, out);
	}
	return longest;
}

static void do_all_to_all(void)
{
	unsigned i, j;

	for (i = 0; i < n_works; i++) {
		for (j = 0; j < n_works; j++)
			move(&works[i], &works[j], works[i].from + j * works[i].bytes,
			     works[j].to + i * works[j].bytes, works[i].bytes);
	}
}

/* Returns when all participating streams are free; the operation starts then. */
static double latest_ns(const struct put *list, unsigned n)
{
	double begin = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		begin = fmax(begin, fake_stream_begin_ns(list[i].stream));
	return begin;
}

static void end_at(const struct put *p, double ns)
{
	fake_stream_set_end_ns(p->stream, ns);
	p->comm->stream = p->stream;
}

static void do_moves(double noise)
{
	unsigned i, j;

	for (i = 0; i < n_works; i++) {
		for (j = 0; works[i].kind == SEND && j < n_works; j++) {
			struct put pair[] = { works[i], works[j] };
			double begin;

			if (works[j].kind != RECEIVE || works[j].peer != works[i].comm->rank ||
			    works[i].peer != works[j].comm->rank)
				continue;
			move(&pair[0], &pair[1], pair[0].from, pair[1].to, pair[0].bytes);
			begin = latest_ns(pair, 2) + launch_ns +
				path_ns(&pair[0], &pair[1], pair[0].bytes) * noise;
			end_at(&pair[0], begin);
			end_at(&pair[1], begin);
		}
	}
}

/* Faults of GPUs that strike between two operations. */
static void strike(void)
{
	unsigned i;

	for (i = 0; i < n_works; i++) {
		unsigned gpu = (unsigned)works[i].comm->rank;

		if (fake_setting("async", -1) >= 0)
			works[i].comm->state = fake_is("async", gpu) ? NCCL_CUDA_ERROR
								     : NCCL_REMOTE_ERROR;
		if (fake_is("late", gpu))
			fake_stream_hang_next(works[i].stream);
	}
}

/* Does the operation hang on all ranks? */
static bool freezes(void)
{
	unsigned i;

	if (n_operations < FAKE_HEALTHY_OPERATIONS)
		return false;
	for (i = 0; i < n_works; i++) {
		if (fake_is("frozen", (unsigned)works[i].comm->rank))
			return true;
	}
	return fake_setting("mute", 0) || fake_setting("abortstuck", -1) >= 0;
}

static void fall_behind(void)
{
	unsigned i;

	for (i = 0; n_operations == FAKE_HEALTHY_OPERATIONS && i < n_works; i++) {
		if (fake_is("behind", (unsigned)works[i].comm->rank))
			end_at(&works[i], (double)INFINITY);
	}
}

/* With leaves=N the process of this host exits at its operation N. */
static void begin_of_hosts(struct put *p)
{
	struct ncclComm *comm = p->comm;

	if (++n_operations == fake_setting("leaves", -1))
		_exit(1);
	fake_hosts_put(comm->hosts, p->from, p->to, p->bytes);
	comm->stream = p->stream;
	comm->bytes = 2.0 * (double)p->bytes * (comm->n - 1) / comm->n;
	comm->ready_ns = (double)INFINITY;
	comm->reducing = true;
}

static void do_works(void)
{
	static struct random random;
	static bool seeded;
	double noise, end;
	unsigned i;

	if (!seeded)
		random = random_seeded(4711);
	seeded = true;
	noise = random_normal(&random, 1, spread);
	if (works[0].kind == SEND || works[0].kind == RECEIVE) {
		do_moves(noise);
	} else {
		end = latest_ns(works, n_works) + launch_ns + all_to_all_ns() * noise;
		if (works[0].kind == ALL_TO_ALL)
			do_all_to_all();
		for (i = 0; i < n_works; i++)
			end_at(&works[i], end);
	}
	for (i = 0; freezes() && i < n_works; i++)
		end_at(&works[i], (double)INFINITY);
	fall_behind();
	if (++n_operations == FAKE_HEALTHY_OPERATIONS)
		strike();
}

unsigned ncclGroupEnd(void)
{
	bool ready = fake_setting("notready", -1) < 0;
	unsigned i;

	if (--depth)
		return NCCL_OK;
	for (i = 0; n_inits && i < FAKE_GPUS_MAX; i++) {
		if (comms[i] && ready && !comms[i]->hosts)
			comms[i]->ready_ns = fake_now_ns() + READY_NS;
	}
	n_inits = 0;
	if (!n_works)
		return NCCL_IN_PROGRESS;
	if (works[0].comm->hosts) {
		begin_of_hosts(&works[0]);
		n_works = 0;
		return NCCL_IN_PROGRESS;
	}
	do_works();
	for (i = 0; i < n_works; i++)
		works[i].comm->ready_ns = fake_now_ns() + launch_ns;
	n_works = 0;
	return NCCL_IN_PROGRESS;
}
