/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the CUDA engine only. A device is a GPU in its primary context, made
 * current for the calling thread before each call and created when it is first
 * needed, so that a GPU that others use is looked at (NVML) before anything is
 * put on it. No code of our own runs there: products and copies are those of
 * the libraries.
 *
 * Threads may ask at once, each for a device of its own. Work that nobody waits for any more
 * (watched_is_left()) is refused with -ECANCELED at its next call, so that it ends: it would load
 * the host beside what is measured next.
 *
 * Run against the fakes of tests/fakes so far, not on a GPU.
 */
#pragma once

#include "probes/accel/accel.h"
#include "probes/accel/cuda_load.h"
#include "probes/accel/gpu_users.h"

enum {
	CUDA_DEVICES_MAX = 64,
	CUDA_QUEUE_MAX = 768, /* work on one stream: from about 1,000 on a launch would block */
	CUDA_POLL_US = 100,   /* between two looks at an event */
	CUDA_STAGE_BYTES = 4 * 1024 * 1024, /* pinned, a device: uploads go through it */
	CUDA_STAGE_US = 5000000,	    /* longest wait for that much to be copied */
	CUDA_FREE_US = 500000,		    /* longest wait for a stream's work when it is freed */
	CUDA_WORKSPACE_BYTES = 32 * 1024 * 1024, /* of a product: what cuBLAS advises for Hopper */
};

struct nvml; /* cuda_nvml.c */

/* Pinned memory and a stream of its own, for uploads and downloads. */
struct cuda_stage {
	void *pinned; /* NULL until it is needed */
	struct accel_stream *stream;
	struct accel_event *event;
};

struct cuda_device {
	int handle;
	struct CUctx_st *context; /* NULL until it is needed */
	struct accel_device_info info;
	int major, minor; /* compute capability */
	bool has_dmabuf;
	lt_handle lt; /* NULL until it is needed */
	struct cuda_stage stage;
};

struct cuda {
	struct accel accel; /* first */
	struct cuda_libs libs;
	struct cuda_device *devices;
	unsigned n_devices;
	char version[160];
	struct nvml *nvml;	     /* NULL without it */
	struct gpu_users users;	     /* who is none */
	_Atomic(const char *) asked; /* subject of the device entered last */
	_Atomic bool stuck;	     /* work never came back: free nothing it may touch */
};

static inline struct cuda *cuda_of(const struct accel *a)
{
	union {
		const struct accel *from;
		struct cuda *to;
	} same = { .from = a };

	return same.to;
}

struct accel_stream {
	struct cuda *cuda;
	unsigned device;
	struct CUstream_st *handle;
	bool late;	    /* a wait for it passed its deadline */
	uint64_t put, done; /* pieces of work; done is what is known of */
};

struct accel_event {
	struct cuda *cuda;
	unsigned device;
	struct CUevent_st *handle;
	struct accel_stream *stream; /* of the newest record; NULL before */
	uint64_t mark;		     /* what the stream had been given then */
};

/* --- cuda_stream.c --- */

int cuda_stream_new(struct accel *a, unsigned device, struct accel_stream **ret, struct err *err);
void cuda_stream_free(struct accel_stream *s);
void *cuda_stream_handle(const struct accel_stream *s);
int cuda_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err);
/* Enter the device to put one more piece of work. -EAGAIN when the stream is full. */
int cuda_stream_enter(struct accel_stream *s, struct err *err);

int cuda_event_new(struct accel *a, unsigned device, struct accel_event **ret, struct err *err);
void cuda_event_free(struct accel_event *e);
int cuda_event_record(struct accel_event *e, struct accel_stream *s, struct err *err);
int cuda_event_wait(struct accel_event *e, uint64_t deadline_us, struct err *err);
int cuda_event_seconds(const struct accel_event *from, const struct accel_event *to, double *ret,
		       struct err *err);

/* --- cuda_memory.c --- */

int cuda_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		    struct accel_region *ret, struct err *err);
void cuda_region_free(struct accel_region *r);
int cuda_region_export(struct accel_region *r, struct accel_export *ret, struct err *err);
int cuda_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	      struct err *err);
int cuda_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
		struct err *err);
int cuda_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		  struct err *err);
void cuda_stage_release(struct cuda *c, unsigned device);

/* The address as the driver takes it, which knows where each of them is. */
static inline cuda_ptr cuda_address(const struct accel_region *r, size_t offset)
{
	return (cuda_ptr)(uintptr_t)r->ptr + offset;
}

int cuda_peer_open(struct accel *a, unsigned device, unsigned peer, struct err *err);

/* --- cuda_host.c --- */

/* Fill `ptr` and `backend` of a region of the host; on `memory->numa` when that is not negative. */
int cuda_host_new(struct cuda *c, unsigned device, const struct accel_memory *memory,
		  struct accel_region *ret, struct err *err);
void cuda_host_free(struct cuda *c, struct accel_region *r);

/* --- cuda_gemm.c: the only file that knows cuBLASLt --- */

int cuda_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
		  struct accel_gemm **ret, struct err *err);
void cuda_gemm_free(struct accel_gemm *g);
const char *cuda_gemm_algorithm(const struct accel_gemm *g);
int cuda_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
		  const struct accel_region *y, struct accel_region *out, struct err *err);

/* --- cuda_nvml.c --- */

/*
 * NVML in a thread of its own: a sick GPU can hold its calls for ever. Each
 * call below answers within NVML_CALL_US, -ETIMEDOUT then and from then on.
 */
enum {
	NVML_CALL_US = 2000000,
	NVML_PROCESSES_MAX = 1024, /* of one GPU; NVML tells of none where there are more */
};

/*
 * What is asked: each answer is a question to the firmware of a GPU, of which there are a hundred,
 * and many a second while it is measured. Whether it is lost is always asked.
 */
enum nvml_what {
	NVML_ASK_NUMBERS = 1, /* clocks, power, heat */
	NVML_ASK_LINKS = 2,   /* asked again after some seconds only */
	NVML_ASK_MODES = 4,   /* ECC, MIG */
	NVML_ASK_USERS = 8,   /* processes */
	NVML_ASK_MEMORY = 16, /* heat of the memory; asked again after a second only */
};

/* What NVML says of one GPU; what was not asked is unknown. */
struct nvml_state {
	struct accel_condition condition;
	double clock_max_hz, power_limit_w; /* NAN unknown */
	int ecc, mig;			    /* 0 off, 1 on, -1 unknown */
	bool lost;			    /* it fell off the bus */
	unsigned n_pids;
	unsigned pids[NVML_PROCESSES_MAX]; /* compute processes, ours among them; no two the same */
	bool knows_clients;		   /* those of MPS are among them if there are any */
};

/* What a GPU is, which does not change while it is there; what NVML does not tell is false or 0. */
struct nvml_facts {
	bool cc;   /* confidential computing: what leaves it is encrypted, RNICs do not reach it */
	bool vgpu; /* a guest's part of a GPU that others share */
	bool c2c;  /* NVLink-C2C joins it to its processor */
	unsigned memory_limit_c; /* as of accel_device_info */
};

/* Start it for the GPUs of `c`. -ETIMEDOUT, -ENOTSUP. */
int nvml_new(const struct cuda *c, struct nvml **ret, struct err *err);
void nvml_free(struct nvml *n);
/* "580.65.06"; "" unknown. Borrowed. */
const char *nvml_driver(const struct nvml *n);
/* All unknown without NVML (`n` is NULL). */
struct nvml_facts cuda_nvml_facts(const struct nvml *n, unsigned device);
int nvml_look(struct nvml *n, unsigned device, unsigned what, struct nvml_state *ret,
	      struct err *err);

/* --- cuda_users.c --- */

/*
 * -ENODEV when a GPU is a virtual one: how fast it is depends on who shares it, so that nothing
 * measured there says anything about this host.
 */
int cuda_refuse_shared(const struct cuda *c, struct err *err);
void cuda_params(const struct accel *a, unsigned device, json_t *params);
int cuda_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err);
int cuda_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err);
