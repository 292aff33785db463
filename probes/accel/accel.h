/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface to what computes: the CPU cores of this host (host.c), GPUs through CUDA (cuda.c),
 * or a simulation (tests/fakes).
 *
 * An engine has devices, and a device has streams. Work put on a stream runs in order and
 * asynchronously. An event marks a place in a stream, and two events give the time between them on
 * the device's own clock. A region is device (or pinned host) memory, which can be exported to an
 * RNIC.
 *
 * On the CPU engine a device is a physical core, a stream is a thread pinned to it, and device
 * memory is normal memory.
 *
 * Every wait has a deadline (monotonic microseconds) and returns -ETIMEDOUT at its end. If a device
 * fails during work, the error is -EIO with the library's own message; if it is lost, -ENODEV. No
 * other call blocks: putting work on a full stream returns -EAGAIN (wait for an event, then
 * continue).
 *
 * Free in this order: streams, then the events, products and regions they used, then the engine.
 * What a hung stream may still access is then not released.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct accel; /* an opened engine */
struct accel_stream;
struct accel_event;
struct accel_gemm; /* a product planned once (with a fixed algorithm) and run often */

enum accel_dtype { ACCEL_F32, ACCEL_F64, ACCEL_BF16, ACCEL_TF32, ACCEL_FP8 };
extern const char *const accel_dtype_names[]; /* "f32", "f64", ...; NULL-terminated */

enum accel_place {
	ACCEL_DEVICE,	   /* the device's own memory */
	ACCEL_HOST_PINNED, /* host memory on `numa` that the device can access by DMA */
};

struct accel_device_info {
	char subject[64]; /* "cpu:3", "gpu:GPU-...": subject of samples */
	char name[96];	  /* model, for people */
	char pci[16];	  /* "0000:1b:00.0"; "" for a core */
	int numa;	  /* NUMA node; -1: unknown */
	unsigned cpu;	  /* logical CPU to pin the driving thread to */
	uint64_t memory_bytes;
	unsigned memory_limit_c; /* C, memory in operation; 0: not reported by the driver */
	unsigned units;		 /* SMs of a GPU; 1 for a core */
	bool c2c;		 /* connected to its processor by NVLink-C2C: copies use no PCIe */
	bool cc; /* confidential computing: sealed from other devices, copies encrypted */
};

/*
 * Maximum operating temperature of HBM2e and HBM3 in C, if the driver does not report it (NVIDIA's
 * product briefs of A100 and H100, "Memory Max Operating Temp" of nvidia-smi -q up to driver 535).
 */
enum { ACCEL_MEMORY_LIMIT_C = 95 };

/* What all active NVLinks of a GPU connect to. */
enum accel_links {
	ACCEL_LINKS_UNKNOWN, /* or to different things */
	ACCEL_LINKS_SWITCH,  /* NVSwitches: no two GPUs share a link */
	ACCEL_LINKS_GPU,     /* each link to one other GPU */
};

/* The state of the device around a measurement; unknown values are NAN or 0. */
struct accel_condition {
	double clock_hz; /* current compute clock */
	double power_w, temperature_c;
	double memory_c;	   /* the hottest memory */
	uint64_t throttle_reasons; /* NVML bits; 0: none */
	unsigned links_up;	   /* active NVLinks; 0: none or unknown */
	uint64_t links_down;	   /* bitmask of NVLinks that are not active */
	int links_to;		   /* enum accel_links */
	uint64_t run_delay_ns;	   /* time the stream waited for its core (cumulative) */
	uint64_t steal_ns;	   /* steal time of its core (cumulative) */
	uint64_t sibling_ns;	   /* time others ran on the core's hardware threads (cumulative) */
};

/* Requested memory. */
struct accel_memory {
	enum accel_place place;
	int numa; /* for host memory; -1: by the thread's policy, which defaults to the nearest */
	size_t size; /* bytes */
};

struct accel_region {
	struct accel *accel;
	unsigned device;
	enum accel_place place;
	void *ptr;   /* device pointer; a host address only if host_visible */
	size_t size; /* bytes */
	bool host_visible;
	const char *pages; /* how host memory was allocated, for params; NULL: irrelevant */
	void *backend;	   /* private to the engine */
};

/* A position in a region. */
struct accel_at {
	struct accel_region *region;
	size_t offset; /* bytes */
};

/* How a region can be registered with an RNIC. */
struct accel_export {
	int dmabuf_fd;	  /* owned; -1: not by dmabuf */
	uint64_t offset;  /* of the region in the dmabuf */
	bool peer_direct; /* register by address (peermem, or host memory) */
	char why[128];	  /* which way, and why not the other */
};

/*
 * D = A x B: A is m x k, B is k x n, D is m x n, row-major and dense. For FP8, B is stored by
 * columns instead (n x k), the only form that GPUs support.
 */
struct accel_gemm_shape {
	unsigned m, n, k;
	enum accel_dtype dtype; /* of A and B */
	enum accel_dtype out;	/* of D: F32 or F64 for exact checks */
};

struct accel_ops {
	const char *name;   /* "cpu", "cuda", "sim" */
	unsigned queue_max; /* pieces of work per stream before -EAGAIN; 0: no limit */
	bool threads;	    /* several threads may call at once, each for a different device */
	bool ends_slowly;   /* closing takes seconds, so a process that is done just exits */

	/*
	 * -ENODEV if there is no such device here; -ENOTSUP with the reason if the library or
	 * driver is missing, broken or too old.
	 */
	int (*open)(struct accel **ret, struct err *err);
	void (*close)(struct accel *a);
	unsigned (*n_devices)(const struct accel *a);
	int (*device_info)(const struct accel *a, unsigned device, struct accel_device_info *ret,
			   struct err *err);
	/* Add what must be equal for two values to be comparable (power limit, ECC mode). */
	void (*device_params)(const struct accel *a, unsigned device, json_t *params);
	int (*condition)(struct accel *a, unsigned device, struct accel_condition *ret,
			 struct err *err);
	/* Versions of library and driver, as "openblas 0.3.21"; part of a sample's params. */
	const char *(*version)(const struct accel *a);

	/*
	 * Make the device current for the calling thread, for libraries that use the current device
	 * (NCCL) with stream_handle() and region pointers.
	 */
	int (*device_enter)(struct accel *a, unsigned device, struct err *err);

	/*
	 * Subject of the device that was queried last, "" if none; if a call hangs, it is that
	 * device's. May be called from any thread. Borrowed.
	 */
	const char *(*asked)(const struct accel *a);

	/* Monotonic microseconds; a simulation has its own clock. */
	uint64_t (*now_us)(const struct accel *a);
	/* The same in nanoseconds, to time calls. */
	uint64_t (*now_ns)(const struct accel *a);

	int (*region_new)(struct accel *a, unsigned device, const struct accel_memory *memory,
			  struct accel_region *ret, struct err *err);
	void (*region_free)(struct accel_region *r);
	int (*region_export)(struct accel_region *r, struct accel_export *ret, struct err *err);

	int (*stream_new)(struct accel *a, unsigned device, struct accel_stream **ret,
			  struct err *err);
	void (*stream_free)(struct accel_stream *s);
	/* The library's handle of the stream (CUstream), or NULL. Borrowed. */
	void *(*stream_handle)(const struct accel_stream *s);
	/* Wait until all work on the stream is done. */
	int (*stream_wait)(struct accel_stream *s, uint64_t deadline_us, struct err *err);

	int (*event_new)(struct accel *a, unsigned device, struct accel_event **ret,
			 struct err *err);
	void (*event_free)(struct accel_event *e);
	int (*event_record)(struct accel_event *e, struct accel_stream *s, struct err *err);
	int (*event_wait)(struct accel_event *e, uint64_t deadline_us, struct err *err);
	/* Seconds between two events of one device that were recorded and have passed. */
	int (*event_seconds)(const struct accel_event *from, const struct accel_event *to,
			     double *ret, struct err *err);

	/*
	 * Allow copies from `device` to access the memory of `peer` directly. -ENOTSUP if that is
	 * not possible; they then go through the host.
	 */
	int (*peer_open)(struct accel *a, unsigned device, unsigned peer, struct err *err);

	/* Asynchronous copy; ranges are checked (-ERANGE). */
	int (*copy)(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
		    struct err *err);
	/* Synchronous copies between normal host memory and a region. */
	int (*upload)(struct accel_region *to, size_t offset, const void *from, size_t size,
		      struct err *err);
	int (*download)(void *to, const struct accel_region *from, size_t offset, size_t size,
			struct err *err);

	int (*gemm_new)(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
			struct accel_gemm **ret, struct err *err);
	void (*gemm_free)(struct accel_gemm *g);
	/* The fixed algorithm as text, for params. */
	const char *(*gemm_algorithm)(const struct accel_gemm *g);
	/*
	 * Maximum pieces of work that one run puts on its stream. A copy or an event is one piece.
	 */
	unsigned (*gemm_pieces)(const struct accel_gemm *g);
	int (*gemm_run)(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
			const struct accel_region *y, struct accel_region *out, struct err *err);

	/*
	 * Who else uses the device: pid and command of the busiest process since the engine was
	 * opened or since the last call. 0 with pid 0 if there is none. `share` is its part of the
	 * device, 0 to 1, or NAN if unknown: processes move between cores, so the CPU engine only
	 * names them, and condition() says how much was taken. A GPU engine returns 1 for any other
	 * compute process.
	 */
	int (*others)(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		      double *ret_share, struct err *err);
};

struct accel {
	const struct accel_ops *ops;
};

/* All function pointers are set. */
extern const struct accel_ops accel_host_ops; /* host.c */
extern const struct accel_ops accel_cuda_ops; /* cuda.c */
/* The same without products, for copies only: does not need or load cuBLASLt. */
extern const struct accel_ops accel_cuda_copy_ops;

/* now_us() and now_ns() for engines that use the host's clock. */
uint64_t accel_mono_us(const struct accel *a);
uint64_t accel_mono_ns(const struct accel *a);

/* Bytes per element. */
size_t accel_dtype_size(enum accel_dtype dtype);

/* Parse "f32" and the like. -EINVAL. */
int accel_dtype_parse(const char *text, enum accel_dtype *ret);

/*
 * From now on the process exits without running the exit handlers of libraries, once its output is
 * written: a GPU driver would wait there for work that never ends.
 */
void accel_leave_at_once(void);

/*
 * Is there an NVIDIA GPU? True if PCI (under the sysroot) has an NVIDIA display or 3D controller,
 * or if NVIDIA's kernel driver is present (/dev/nvidiactl, /proc/driver/nvidia/version, also under
 * the sysroot), since gVisor, Kata and some containers hide the bus.
 */
bool accel_gpu_present(void);

/*
 * -ENODEV with the reason if all GPUs of this host are AMD's (/dev/kfd, which may be missing in a
 * container, or an accelerator without a display on the PCI bus), because a probe that measures
 * GPUs where there are some must not fall back to the CPU. Otherwise 0.
 */
int accel_check_vendor(struct err *err);

/*
 * Find the engine `name` in the NULL-terminated `engines` of this program. "auto" is cuda if there
 * is a GPU (accel_gpu_present()), and then never falls back, otherwise cpu: a GPU that cannot be
 * driven must not pass as a good CPU. -ENODEV for cuda without a GPU and for auto with AMD's,
 * -ENOTSUP for an engine that is not in this build, -EINVAL for any other name.
 */
int accel_choose(const char *name, const struct accel_ops *const *engines,
		 const struct accel_ops **ret, struct err *err);
