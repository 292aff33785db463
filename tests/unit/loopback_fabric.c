/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/loopback_fabric.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/loopback/loopback_mesh.h"
#include "probes/memory/buffer.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* Large requests take fewer steps of the simulation for the same bytes. */
enum { REQUEST = 1 << 20, HALF = 4 << 20, DEPTH = 32, LINE_MAX_BYTES = SAMPLE_LINE_MAX };

static void add_links(struct fabric *f)
{
	const struct topology *t = &f->host.topology;
	double pcie = mesh_capacity(t, topology_find_link(t, "switch:0^root:0"));
	size_t i;

	for (i = 0; i < t->n_links; i++) {
		double capacity = mesh_capacity(t, &t->links[i]);

		f->sim.links[i].bytes_per_s = capacity > 0 ? capacity : pcie;
	}
	for (i = 0; i < f->host.n_rnics; i++)
		f->sim.links[t->n_links + i].bytes_per_s = f->host.rates[i];
	f->sim.n_links = t->n_links + f->host.n_rnics;
}

static void add_ports(struct fabric *f)
{
	size_t i;

	f->sim.n_ports = f->host.n_rnics;
	for (i = 0; i < f->host.n_rnics; i++) {
		struct rdma_port *port = &f->sim.ports[i];

		*port = f->sim.ports[0];
		(void)snprintf(port->device, sizeof(port->device), "mlx5_%zu", i);
		port->bytes_per_s = f->host.rates[i];
	}
}

static void add_ends(struct fabric *f)
{
	size_t i;

	f->memory_bytes = f->host.n_ends * 2 * HALF;
	f->memory = mmap(NULL, f->memory_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(f->memory != MAP_FAILED);
	for (i = 0; i < f->host.n_ends; i++) {
		struct buffer *buffer = xcalloc(1, sizeof(*buffer));

		buffer->arrays[0] = (double *)(f->memory + 2 * i * HALF);
		buffer->arrays[1] = (double *)(f->memory + (2 * i + 1) * HALF);
		f->ends[i] = (struct endpoint){ .id = xstrdup(f->host.ends[i]),
						.buffer = buffer,
						.bytes = HALF };
	}
}

static void add_path(struct fabric *f, size_t rnic, size_t end)
{
	const struct topology *t = &f->host.topology;
	struct sim_path *p = &f->paths[f->sim.n_paths++];
	CLEANUP(strv_freep) char **path = NULL;
	size_t i;

	*p = (struct sim_path){
		.port = 1, .at = f->memory + 2 * end * HALF, .bytes = 2 * HALF, .factor = 1
	};
	memcpy(p->device, f->sim.ports[rnic].device, sizeof(p->device));
	CHECK_EQ(topology_path(t, f->host.rnics[rnic], f->host.ends[end], &path), 0);
	for (i = 0; path && path[i]; i++)
		p->links[p->n_links++] = (unsigned)(topology_find_link(t, path[i]) - t->links);
	p->links[p->n_links++] = (unsigned)(t->n_links + rnic);
}

/* Removes state saved by earlier runs. */
static void forget(void)
{
	CLEANUP(freep) char *dir = xasprintf("%s/state", test_dir());
	CLEANUP(freep) char *kept = test_file("state/probe/loopback.json", "{}");

	CHECK_EQ(unlink(kept), 0);
	(void)setenv("ASSAY_STATE_DIR", dir, 1);
}

struct fabric *fabric_new(void)
{
	struct fabric *f = xcalloc(1, sizeof(*f));
	size_t i, j;

	forget();

	f->sim = rdma_sim_make();
	f->sim.poll_s = 20e-6;
	mesh_host_standard(&f->host);
	add_links(f);
	add_ports(f);
	add_ends(f);
	for (i = 0; i < f->host.n_rnics; i++) {
		for (j = 0; j < f->host.n_ends; j++)
			add_path(f, i, j);
	}
	f->sim.paths = f->paths;
	f->options = (struct loopback_options){ .gid_index = -1,
						.size = REQUEST,
						.qps = 1,
						.depth = DEPTH,
						.service = RDMA_SERVICE_INIT };
	return f;
}

void fabric_free(struct fabric *f)
{
	size_t i;

	CHECK_EQ(f->sim.open_devices + f->sim.open_regions + f->sim.open_queues, 0);
	CHECK_EQ(f->sim.lost, 0);
	for (i = 0; i < f->host.n_ends; i++) {
		free(f->ends[i].buffer);
		free(f->ends[i].id);
	}
	(void)munmap(f->memory, f->memory_bytes);
	mesh_host_release(&f->host);
	free(f);
}

void fabric_slow(struct fabric *f, const char *link, double part)
{
	const struct topo_link *l = topology_find_link(&f->host.topology, link);

	CHECK(l);
	if (l)
		f->sim.links[l - f->host.topology.links].bytes_per_s *= part;
}

void fabric_noise(struct fabric *f, double sigma, uint64_t seed)
{
	struct random chance = random_seeded(seed);
	size_t i;

	for (i = 0; i < f->sim.n_paths; i++)
		f->paths[i].factor = random_normal(&chance, 1, sigma);
}

static void read_samples(const char *path, struct report *ret)
{
	CLEANUP(freep) char *line = xcalloc(LINE_MAX_BYTES, 1);
	FILE *in = fopen(path, "re");

	CHECK(in);
	while (in && fgets(line, LINE_MAX_BYTES, in)) {
		CLEANUP(json_freep) json_t *object = json_loads(line, 0, NULL);
		struct sample s = sample_init();
		struct err err = ERR_INIT;

		CHECK(object);
		CHECK_EQ(sample_decode(&(struct jval){ .value = object }, &s, &err), 0);
		CHECK_EQ(report_add_sample(ret, &s), 0);
	}
	if (in)
		(void)fclose(in);
}

void fabric_run(struct fabric *f, enum loopback_set set, uint64_t budget_us, struct report *ret)
{
	static const struct probe_desc desc = { .name = "loopback" };
	const struct loopback_host host = {
		.probe = &f->probe,
		.engine = &f->sim.engine,
		.ports = f->sim.ports,
		.n_ports = f->sim.n_ports,
		.ends = f->ends,
		.n_ends = f->host.n_ends,
		.topology = &f->host.topology,
	};
	CLEANUP(freep) char *path = test_file("samples", "");
	int out = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), before = dup(STDOUT_FILENO);
	uint64_t begin_us = f->sim.now_ns / 1000;

	f->options.set = (int)set;
	f->probe = (struct probe){ .desc = &desc,
				   .options = &f->options,
				   .budget_us = budget_us,
				   .deadline_us = begin_us + budget_us };
	*ret = report_make();
	(void)fflush(stdout);
	(void)dup2(out, STDOUT_FILENO);
	CHECK_EQ(loopback_mesh(&host), 0);
	(void)dup2(before, STDOUT_FILENO);
	(void)close(before);
	(void)close(out);
	f->seconds = (double)(f->sim.now_ns / 1000 - begin_us) / USEC_PER_SEC;
	read_samples(path, ret);
}
