/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between what is measured and what computes: the CPU cores of this
 * host (host.c), GPUs through CUDA (cuda.c), or a simulation (tests/fakes).
 *
 * Model: an engine has devices; a device has streams; work put on a stream
 * runs in order and asynchronously; an event marks a place in a stream, and
 * two events give the time between them on the device's own clock. A region
 * is device (or pinned host) memory, which can be exported to an RNIC.
 *
 * On the CPU engine a device is a physical core, a stream is a thread pinned
 * to it, and device memory is plain memory.
 *
 * Every wait has a deadline (monotonic microseconds): -ETIMEDOUT at its end.
 * A device that fails in mid-work gives -EIO with the library's own words; a
 * lost one -ENODEV. No call blocks otherwise: work put on a stream that holds
 * as much as it can is refused with -EAGAIN (wait for an event, then go on).
 *
 * Free in this order: streams, then the events, products and regions they
 * used, then the engine. What a hung stream may still touch is then kept.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct accel; /* one opened engine */
struct accel_stream;
struct accel_event;
struct accel_gemm; /* a product planned once (algorithm pinned), run often */

enum accel_dtype { ACCEL_F32, ACCEL_F64, ACCEL_BF16, ACCEL_TF32, ACCEL_FP8 };
extern const char *const accel_dtype_names[]; /* "f32", "f64", ...; NULL-terminated */

enum accel_place {
	ACCEL_DEVICE,	   /* the device's own memory */
	ACCEL_HOST_PINNED, /* host memory that the device can reach by DMA, on `numa` */
};

struct accel_device_info {
	char subject[64]; /* "cpu:3", "gpu:GPU-...": canonical subject of samples */
	char name[96];	  /* model, for people */
	char pci[16];	  /* "0000:1b:00.0", "" for a core */
	int numa;	  /* NUMA node, -1 unknown */
	unsigned cpu;	  /* logical CPU to pin a driving thread to */
	uint64_t memory_bytes;
	unsigned memory_limit_c; /* of its memory in operation; 0: the driver does not say */
	unsigned units;		 /* SMs of a GPU, 1 for a core */
	bool c2c; /* NVLink-C2C joins it to its processor: copies cross no PCIe link */
	bool cc;  /* confidential computing: sealed from other devices, copies encrypted */
};

/*
 * C that HBM2e and HBM3 may have in operation (NVIDIA's product briefs of A100 and H100, "Memory
 * Max Operating Temp" of nvidia-smi -q up to driver 535): where the driver does not say.
 */
enum { ACCEL_MEMORY_LIMIT_C = 95 };

/* What all NVLinks of a GPU that are active lead to. */
enum accel_links {
	ACCEL_LINKS_UNKNOWN, /* or to different things */
	ACCEL_LINKS_SWITCH,  /* NVSwitches: no two GPUs share one */
	ACCEL_LINKS_GPU,     /* each to one other GPU */
};

/* What the device was doing around a measurement. NAN and 0 when unknown. */
struct accel_condition {
	double clock_hz; /* compute clock now */
	double power_w, temperature_c;
	double memory_c;	   /* the hottest of its memory */
	uint64_t throttle_reasons; /* NVML bits; 0 none */
	unsigned links_up;	   /* NVLinks that are active; 0 none or unknown */
	uint64_t links_down;	   /* those it has that are not, a bit each */
	int links_to;		   /* enum accel_links */
	uint64_t run_delay_ns;	   /* time the stream waited for its core (cumulative) */
	uint64_t steal_ns;	   /* time a hypervisor took from its core (cumulative) */
	uint64_t sibling_ns; /* time others ran on hardware threads of its core (cumulative) */
};

/* What memory is wanted. */
struct accel_memory {
	enum accel_place place;
	int numa; /* of host memory; -1 where the thread's policy puts it, the nearest by default */
	size_t size; /* bytes */
};

struct accel_region {
	struct accel *accel;
	unsigned device;
	enum accel_place place;
	void *ptr;   /* device pointer; a host address only where host_visible */
	size_t size; /* bytes */
	bool host_visible;
	const char *pages; /* how memory of the host was taken, for params; NULL: nothing to say */
	void *backend;	   /* the engine's own */
};

/* A place in a region. */
struct accel_at {
	struct accel_region *region;
	size_t offset; /* bytes */
};

/* How a region's memory is given to an RNIC. */
struct accel_export {
	int dmabuf_fd;	  /* owned; -1 when not by dmabuf */
	uint64_t offset;  /* of the region in the dmabuf */
	bool peer_direct; /* register the pointer itself (peermem, or host memory) */
	char why[128];	  /* which way, and why not the other */
};

/*
 * D = A x B: A is m x k, B is k x n, D is m x n, row-major, dense; of FP8 B is
 * stored by its columns instead (n x k), the one form that GPUs multiply.
 */
struct accel_gemm_shape {
	unsigned m, n, k;
	enum accel_dtype dtype; /* of A and B */
	enum accel_dtype out;	/* of D: F32 or F64 for exact checks */
};

struct accel_ops {
	const char *name;   /* "cpu", "cuda", "sim" */
	unsigned queue_max; /* pieces of work that one stream takes before -EAGAIN; 0: any */
	bool threads;	    /* several may ask at once, each for a device of its own */
	bool ends_slowly;   /* closing it takes seconds: a process that is done just ends */

	/*
	 * -ENODEV when there is no such device here; -ENOTSUP with the sentence
	 * when the library or driver is missing, broken or too old.
	 */
	int (*open)(struct accel **ret, struct err *err);
	void (*close)(struct accel *a);
	unsigned (*n_devices)(const struct accel *a);
	int (*device_info)(const struct accel *a, unsigned device, struct accel_device_info *ret,
			   struct err *err);
	/* Add what must be equal for two of its values to be compared (power limit, ECC mode). */
	void (*device_params)(const struct accel *a, unsigned device, json_t *params);
	int (*condition)(struct accel *a, unsigned device, struct accel_condition *ret,
			 struct err *err);
	/* Library and driver versions as "openblas 0.3.21": part of a sample's params. */
	const char *(*version)(const struct accel *a);

	/*
	 * Make the device current for the calling thread: for libraries that work
	 * on the current one (NCCL) with stream_handle() and pointers of regions.
	 */
	int (*device_enter)(struct accel *a, unsigned device, struct err *err);

	/*
	 * Subject of the device that was asked for something last, "" for none:
	 * of the one whose call does not come back. From any thread. Borrowed.
	 */
	const char *(*asked)(const struct accel *a);

	/* Monotonic microseconds; a simulation has its own clock. */
	uint64_t (*now_us)(const struct accel *a);
	/* The same in nanoseconds: what a call took. */
	uint64_t (*now_ns)(const struct accel *a);

	int (*region_new)(struct accel *a, unsigned device, const struct accel_memory *memory,
			  struct accel_region *ret, struct err *err);
	void (*region_free)(struct accel_region *r);
	int (*region_export)(struct accel_region *r, struct accel_export *ret, struct err *err);

	int (*stream_new)(struct accel *a, unsigned device, struct accel_stream **ret,
			  struct err *err);
	void (*stream_free)(struct accel_stream *s);
	/* The library's own handle of the stream (CUstream), NULL without one. Borrowed. */
	void *(*stream_handle)(const struct accel_stream *s);
	/* Wait until all work on the stream is done. */
	int (*stream_wait)(struct accel_stream *s, uint64_t deadline_us, struct err *err);

	int (*event_new)(struct accel *a, unsigned device, struct accel_event **ret,
			 struct err *err);
	void (*event_free)(struct accel_event *e);
	int (*event_record)(struct accel_event *e, struct accel_stream *s, struct err *err);
	int (*event_wait)(struct accel_event *e, uint64_t deadline_us, struct err *err);
	/* Seconds between two recorded and passed events of one device. */
	int (*event_seconds)(const struct accel_event *from, const struct accel_event *to,
			     double *ret, struct err *err);

	/*
	 * Let copies from `device` reach the memory of `peer` directly. -ENOTSUP when
	 * they cannot: they then go through the host.
	 */
	int (*peer_open)(struct accel *a, unsigned device, unsigned peer, struct err *err);

	/* Asynchronous copy; ranges are checked (-ERANGE). */
	int (*copy)(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
		    struct err *err);
	/* Copies between plain host memory and a region, done when they return. */
	int (*upload)(struct accel_region *to, size_t offset, const void *from, size_t size,
		      struct err *err);
	int (*download)(void *to, const struct accel_region *from, size_t offset, size_t size,
			struct err *err);

	int (*gemm_new)(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
			struct accel_gemm **ret, struct err *err);
	void (*gemm_free)(struct accel_gemm *g);
	/* The pinned algorithm as text, for params. */
	const char *(*gemm_algorithm)(const struct accel_gemm *g);
	/* Pieces of work that a run of it puts on its stream, at most. A copy and an event are one. */
	unsigned (*gemm_pieces)(const struct accel_gemm *g);
	int (*gemm_run)(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
			const struct accel_region *y, struct accel_region *out, struct err *err);

	/*
	 * Who else uses the device: pid and command of the busiest, since the
	 * engine was opened or since the last call. 0 with pid 0 when nobody;
	 * `share` is its part of the device, 0 to 1, NAN when that cannot be
	 * told: a process moves between cores, so the CPU engine only names
	 * it, and condition() tells what was taken. A GPU engine gives 1 for
	 * any compute process of others.
	 */
	int (*others)(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		      double *ret_share, struct err *err);
};

struct accel {
	const struct accel_ops *ops;
};

/* NULL functions are never present. */
extern const struct accel_ops accel_host_ops; /* host.c */
extern const struct accel_ops accel_cuda_ops; /* cuda.c */
/* The same without products, for who only copies: needs no cuBLASLt and does not load it. */
extern const struct accel_ops accel_cuda_copy_ops;

/* now_us() and now_ns() of engines whose clock is the host's. */
uint64_t accel_mono_us(const struct accel *a);
uint64_t accel_mono_ns(const struct accel *a);

/* Bytes of one element. */
size_t accel_dtype_size(enum accel_dtype dtype);

/* "f32" and the like. -EINVAL. */
int accel_dtype_parse(const char *text, enum accel_dtype *ret);

/*
 * From now on the process ends without the handlers of libraries, once what was
 * printed is out: a GPU driver waits there for work that will never be over.
 */
void accel_leave_at_once(void);

/*
 * True when PCI (under the sysroot) shows an NVIDIA display or 3D controller, or NVIDIA's kernel
 * driver shows itself (/dev/nvidiactl, /proc/driver/nvidia/version, under the sysroot too): gVisor,
 * Kata and some containers hide the bus.
 */
bool accel_gpu_present(void);

/*
 * -ENODEV with the sentence when the GPUs of this host are AMD's alone (/dev/kfd, which a container
 * may not have, or an accelerator without a screen on the PCI bus): what measures GPUs where there
 * are some must not take the CPU in their place. 0 else.
 */
int accel_check_vendor(struct err *err);

/*
 * The engine called `name` of the NULL-terminated `engines` of this program.
 * "auto" is cuda where there is a GPU (accel_gpu_present()) and then never falls
 * back, else cpu: a GPU that cannot be driven must not pass as a good CPU.
 * -ENODEV for cuda without a GPU here and for auto with AMD's, -ENOTSUP for an
 * engine this build has not, -EINVAL for another name.
 */
int accel_choose(const char *name, const struct accel_ops *const *engines,
		 const struct accel_ops **ret, struct err *err);
