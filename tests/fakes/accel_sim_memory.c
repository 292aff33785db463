/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/fakes/accel_sim_inside.h"

int sim_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		   struct accel_region *ret, struct err *err)
{
	const struct accel_sim *sim = sim_engine(a)->sim;

	if (sim->fail_node && memory->place == ACCEL_HOST_PINNED && memory->numa == sim->fail_node)
		return err_set(err, EPERM, "memory of numa:%d cannot be bound", memory->numa);
	*ret = (struct accel_region){
		.accel = a,
		.device = device,
		.place = memory->place,
		.ptr = xcalloc(1, memory->size),
		.size = memory->size,
		.host_visible = true,
		.backend = sim_make(sim_engine(a), sizeof(struct sim_content)),
	};
	((struct sim_content *)ret->backend)->numa =
		memory->place == ACCEL_HOST_PINNED ? memory->numa : -1;
	return 0;
}

void sim_region_free(struct accel_region *r)
{
	sim_unmake(sim_engine(r->accel), r->backend);
	free(r->ptr);
	*r = (struct accel_region){ 0 };
}

/* Any descriptor serves as a dmabuf: tests only see that it is passed on and closed. */
int sim_region_export(struct accel_region *r, struct accel_export *ret, struct err *err)
{
	const struct accel_sim *sim = sim_engine(r->accel)->sim;
	struct accel_export export = { .dmabuf_fd = -1, .peer_direct = sim->exports_address };

	if (!sim->exports_dmabuf && !sim->exports_address)
		return err_set(err, ENOTSUP, "simulated memory cannot be exported");
	if (sim->exports_dmabuf)
		export.dmabuf_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)snprintf(export.why, sizeof(export.why), "this driver makes none");
	*ret = export;
	return 0;
}

static int check_range(const struct accel_region *r, size_t offset, size_t size, struct err *err)
{
	if (offset <= r->size && size <= r->size - offset)
		return 0;
	return err_set(err, ERANGE, "outside a region of %zu", r->size);
}

static bool is_far(const struct accel_region *r)
{
	return ((const struct sim_content *)r->backend)->numa > 0;
}

static double copy_us(const struct accel_stream *s, const struct accel_region *to,
		      const struct accel_region *from, size_t size)
{
	const struct accel_sim *sim = sim_stream_engine(s)->sim;
	double rate = sim->copy_bytes_per_s * sim_copy_factor(s);

	if (sim->far_copy > 0 && (is_far(to) || is_far(from)))
		rate *= sim->far_copy;
	return rate > 0 ? (double)size / rate * 1e6 : 0;
}

static void damage(struct accel_at to, const struct accel_region *from)
{
	const struct sim_engine *e = sim_engine(from->accel);
	const struct accel_sim_fault *f = &e->sim->fault;

	if (e->sim->damage_above && from->size > e->sim->damage_above &&
	    f->device == from->device && from->place == ACCEL_DEVICE &&
	    to.region->place == ACCEL_HOST_PINNED && (f->count == 0 || e->sim->damaged++ < f->count))
		((unsigned char *)to.region->ptr)[to.offset + 8 * f->row] ^= 1;
}

/* The address of the bytes, after the fault address_line. */
static char *cells(const struct accel_at *at)
{
	const struct sim_engine *e = sim_engine(at->region->accel);
	const struct accel_sim *sim = e->sim;
	size_t offset = at->offset;

	if (sim->damage_above && at->region->size > sim->damage_above &&
	    sim->fault.device == at->region->device && at->region->place == ACCEL_DEVICE)
		offset &= ~sim->address_line;
	return (char *)at->region->ptr + offset;
}

static void stick(struct accel_at to, size_t size)
{
	const struct accel_sim *sim = sim_engine(to.region->accel)->sim;

	if (sim->stuck_at && to.region->size > sim->damage_above &&
	    sim->fault.device == to.region->device && to.region->place == ACCEL_DEVICE &&
	    to.offset < sim->stuck_at && sim->stuck_at <= to.offset + size)
		((unsigned char *)to.region->ptr)[sim->stuck_at - 1] |= 1;
}

int sim_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	     struct err *err)
{
	const struct sim_engine *e = sim_stream_engine(s);
	int r = check_range(to.region, to.offset, size, err);

	if (r == 0)
		r = check_range(from.region, from.offset, size, err);
	if (r == 0)
		sim_stream_busy(s, copy_us(s, to.region, from.region, size));
	if (r == 0)
		memmove(cells(&to), cells(&from), size);
	if (r == 0)
		stick(to, size);
	if (r == 0 && !e->sim->stuck_at && !e->sim->address_line)
		damage(to, from.region);
	return r;
}

int sim_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
	       struct err *err)
{
	const struct accel_sim *sim = sim_engine(to->accel)->sim;
	int r = check_range(to, offset, size, err);

	if (r < 0)
		return r;
	memcpy((char *)to->ptr + offset, from, size);
	if (sim->damage_upload && sim->fault.device == to->device)
		((unsigned char *)to->ptr)[offset + size - 1] ^= 0x40;
	((struct sim_content *)to->backend)->pending = false;
	return 0;
}

static double read_element(enum accel_dtype dtype, const void *from, size_t i)
{
	return dtype == ACCEL_F64 ? ((const double *)from)[i] : ((const float *)from)[i];
}

static void write_element(enum accel_dtype dtype, void *to, size_t i, double value)
{
	if (dtype == ACCEL_F64)
		((double *)to)[i] = value;
	else
		((float *)to)[i] = (float)value;
}

static void multiply(const struct sim_content *c, void *out)
{
	size_t n = c->shape.n, k = c->shape.k, i, j, l;

	for (i = 0; i < c->shape.m; i++) {
		for (j = 0; j < n; j++) {
			double sum = 0;

			for (l = 0; l < k; l++)
				sum += read_element(c->shape.dtype, c->x, i * k + l) *
				       read_element(c->shape.dtype, c->y, l * n + j);
			write_element(c->shape.out, out, i * n + j, sum);
		}
	}
}

static void put_fault(const struct accel_sim_fault *f, const struct accel_gemm_shape *shape,
		      void *out)
{
	size_t size = accel_dtype_size(shape->out);
	size_t at = (f->row % shape->m) * shape->n + f->col % shape->n;
	uint64_t raw = 0;

	memcpy(&raw, (char *)out + at * size, size);
	raw ^= f->bits;
	memcpy((char *)out + at * size, &raw, size);
}

/* Computes the region's pending product, and injects the fault when it is due. */
static void settle(const struct accel_region *r)
{
	struct sim_engine *e = sim_engine(r->accel);
	const struct accel_sim_fault *f = &e->sim->fault;
	struct sim_content *c = r->backend;
	unsigned number;

	if (!c->pending)
		return;
	c->pending = false;
	multiply(c, r->ptr);
	number = e->read_back[r->device]++;
	if (f->on && f->device == r->device && number >= f->first &&
	    (f->count == 0 || number < f->first + f->count))
		put_fault(f, &c->shape, r->ptr);
}

int sim_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		 struct err *err)
{
	int r = check_range(from, offset, size, err);

	if (r < 0)
		return r;
	settle(from);
	memcpy(to, (const char *)from->ptr + offset, size);
	return 0;
}
