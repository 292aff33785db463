/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/mesh.h"

#include <stdio.h>

#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"

#define GBIT 0.125e9 /* bytes per second */

/* Maximum links of a path, including its end. */
enum { PATH_MAX_LINKS = 6, TEXT_SIZE = 96 };

struct mesh mesh_make(void)
{
	struct mesh m;
	size_t i, at = 0;

	for (i = 0; i < MESH_RNICS; i++, at++) {
		(void)snprintf(m.id[at], sizeof(m.id[at]), "rnic:mlx5_%zu^switch:%zu", i, i / 2);
		m.capacity[at] = 400 * GBIT;
	}
	for (i = 0; i < MESH_GPUS; i++, at++) {
		(void)snprintf(m.id[at], sizeof(m.id[at]), "gpu:%zu^switch:%zu", i, i / 2);
		m.capacity[at] = 430 * GBIT;
	}
	for (i = 0; i < MESH_SWITCHES; i++, at++) {
		(void)snprintf(m.id[at], sizeof(m.id[at]), "switch:%zu^numa:%zu", i, i / 2);
		m.capacity[at] = 430 * GBIT;
	}
	(void)snprintf(m.id[at], sizeof(m.id[at]), "numa:0^numa:1");
	m.capacity[at++] = 300 * GBIT;
	for (i = 0; i < MESH_SOCKETS; i++, at++) {
		(void)snprintf(m.id[at], sizeof(m.id[at]), "numa:%zu^numa:%zu", i, i);
		m.capacity[at] = 900 * GBIT;
	}
	return m;
}

/* `end`: GPU 0 to 7, then the memories. */
static size_t path_of(size_t rnic, size_t end, size_t ret[static PATH_MAX_LINKS])
{
	bool is_memory = end >= MESH_GPUS;
	size_t from = rnic / 2, to = is_memory ? SIZE_MAX : end / 2, n = 0;
	size_t to_socket = is_memory ? end - MESH_GPUS : to / 2;

	ret[n++] = rnic;
	if (from != to) {
		ret[n++] = MESH_RNICS + MESH_GPUS + from;
		if (from / 2 != to_socket)
			ret[n++] = MESH_SOCKET_LINK;
		if (!is_memory)
			ret[n++] = MESH_RNICS + MESH_GPUS + to;
	}
	ret[n++] = is_memory ? MESH_MEMORY + to_socket : MESH_RNICS + end;
	return n;
}

static const char *class_of(size_t rnic, size_t end)
{
	size_t to_socket = end >= MESH_GPUS ? end - MESH_GPUS : end / 4;

	if (end < MESH_GPUS && end / 2 == rnic / 2)
		return "pix";
	return rnic / 4 == to_socket ? "node" : "sys";
}

static void name_end(size_t end, char ret[static TEXT_SIZE])
{
	bool is_memory = end >= MESH_GPUS;

	(void)snprintf(ret, TEXT_SIZE, "%s:%zu", is_memory ? "numa" : "gpu",
		       is_memory ? end - MESH_GPUS : end);
}

/* One cell, while `flows` RNICs of its socket do the same. */
static struct sample *measure_cell(const struct mesh *m, size_t rnic, size_t end, double factor,
				   size_t flows, struct report *ret)
{
	size_t path[PATH_MAX_LINKS], n = path_of(rnic, end, path), i;
	char subject[2 * TEXT_SIZE], from[TEXT_SIZE], to[TEXT_SIZE];
	double value = INFINITY;
	struct sample *s;

	name_end(end, to);
	(void)snprintf(from, sizeof(from), "rnic:mlx5_%zu", rnic);
	(void)snprintf(subject, sizeof(subject), "mlx5_%zu:1>%s", rnic, to);
	for (i = 0; i < n; i++) {
		bool is_switch = path[i] >= MESH_RNICS + MESH_GPUS && path[i] < MESH_SOCKET_LINK;
		double k = flows == 1		    ? 1
			   : path[i] >= MESH_MEMORY ? (double)flows
			   : is_switch		    ? 2
						    : 1;

		value = MIN(value, m->capacity[path[i]] / k);
	}
	s = report_put(ret, "loopback.write_bw", subject, value * factor);
	s->from = xstrdup(from);
	s->to = xstrdup(to);
	s->locality = xstrdup(class_of(rnic, end));
	s->path = xcalloc(n + 1, sizeof(char *));
	for (i = 0; i < n; i++)
		s->path[i] = xstrdup(m->id[path[i]]);
	return s;
}

static void measure_group(const struct mesh *m, size_t socket, double noise, struct random *chance,
			  struct report *ret)
{
	enum { AT_ONCE = MESH_RNICS / MESH_SOCKETS };
	size_t i, j;

	for (i = 0; i < AT_ONCE; i++) {
		struct sample *s = measure_cell(m, socket * AT_ONCE + i, MESH_GPUS + socket,
						random_normal(chance, 1, noise), AT_ONCE, ret);

		s->params = json_pack("{s:i}", "at_once", AT_ONCE);
		s->with = xcalloc(AT_ONCE + 1, sizeof(char *));
		for (j = 0; j < AT_ONCE; j++)
			s->with[j] = xasprintf("mlx5_%zu:1>numa:%zu", socket * AT_ONCE + j, socket);
	}
}

void mesh_measure(const struct mesh *m, double noise, struct random *chance, bool groups,
		  struct report *ret)
{
	size_t rnic, end, socket;

	for (rnic = 0; rnic < MESH_RNICS; rnic++) {
		for (end = 0; end < MESH_GPUS + MESH_SOCKETS; end++)
			(void)measure_cell(m, rnic, end, random_normal(chance, 1, noise), 1, ret);
	}
	for (socket = 0; groups && socket < MESH_SOCKETS; socket++)
		measure_group(m, socket, noise, chance, ret);
}

struct report mesh_report(size_t link, double residual, uint64_t seed)
{
	struct random chance = random_seeded(seed);
	struct mesh mesh = mesh_make();
	struct report report = report_make();

	if (link < MESH_LINKS)
		mesh.capacity[link] *= residual;
	mesh_measure(&mesh, 0.01, &chance, true, &report);
	return report;
}
