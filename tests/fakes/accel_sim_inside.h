/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the simulated engine. */
#pragma once

#include "tests/fakes/accel_sim.h"
#include "tests/unit/random.h"

/* The latest product written to a region; computed when it is read back. */
struct sim_content {
	bool pending;
	int numa; /* node of pinned memory; -1: unknown */
	struct accel_gemm_shape shape;
	const void *x, *y;
};

struct sim_engine {
	struct accel accel; /* first */
	struct accel_sim *sim;
	struct random random;
	double now_us;
	double rate[ACCEL_SIM_DEVICES_MAX];
	unsigned read_back[ACCEL_SIM_DEVICES_MAX];
};

struct accel_gemm {
	struct sim_engine *engine;
	unsigned device;
	struct accel_gemm_shape shape;
};

/* Returns the engine that embeds `a`. */
struct sim_engine *sim_engine(const struct accel *a);

/* Returns zeroed memory, counted in `alive` until sim_unmake(). */
void *sim_make(struct sim_engine *e, size_t size);
void sim_unmake(struct sim_engine *e, void *object);

/* Adds work that takes `us` to the end of the stream. */
void sim_stream_busy(struct accel_stream *s, double us);
/* Multiplies the stream's copy rate: slow_copy of its device, and noise. */
double sim_copy_factor(const struct accel_stream *s);
struct sim_engine *sim_stream_engine(const struct accel_stream *s);

/* --- accel_sim_memory.c --- */

int sim_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		   struct accel_region *ret, struct err *err);
void sim_region_free(struct accel_region *r);
int sim_region_export(struct accel_region *r, struct accel_export *ret, struct err *err);
int sim_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	     struct err *err);
int sim_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
	       struct err *err);
int sim_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		 struct err *err);
