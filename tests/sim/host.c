/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/duration.h"
#include "lib/xalloc.h"

static char sku_name[] = "hgx-h100", text_time[] = "2026-01-01T00:00:00.000Z", text_agent[] = "sim";
static char one[] = "1", passive_name[] = "passive", quick_name[] = "quick";

enum kind { KIND_COMPUTE, KIND_COPY, KIND_NETWORK };

/* Rates as tests/fleet/hosts.py has them, with their sources there. */
static const struct {
	char *check, *unit, *locality;
	double rate;
} kinds[HOST_KINDS] = {
	[KIND_COMPUTE] = { (char[]){ "gemm.rate" }, (char[]){ "FLOP/s" }, (char[]){ "self" },
			   775e12 },
	[KIND_COPY] = { (char[]){ "memory.h2d_bw" }, (char[]){ "B/s" }, (char[]){ "self" }, 51.6e9 },
	[KIND_NETWORK] = { (char[]){ "loopback.write_bw" }, (char[]){ "B/s" }, (char[]){ "pix" },
			   50e9 },
};

/* Drivers that a roll-out goes from and to: what is compared says which. */
static char driver_old[] = "{\"driver\":\"550.54.15\"}",
	    driver_new[] = "{\"driver\":\"570.86.15\"}";

/* States, one for the host unless something is wrong. */
enum state { STATE_GPUS, STATE_NICS, STATE_XID, STATE_FLAPPING, N_STATES };

static char *const state_checks[N_STATES] = {
	[STATE_GPUS] = (char[]){ "inventory.gpus" },
	[STATE_NICS] = (char[]){ "inventory.nics" },
	[STATE_XID] = (char[]){ "gpu.xid" },
	[STATE_FLAPPING] = (char[]){ "rnic.flapping" },
};

/* Measured values first, then states, then one state of each part. */
enum {
	VALUES = HOST_KINDS * HOST_PARTS,
	PART_XID = VALUES + N_STATES,
	PART_FLAPPING = PART_XID + HOST_PARTS,
	SAMPLES = PART_FLAPPING + HOST_PARTS,
};

static struct sample sample_of(char *check, char *subject, char *unit)
{
	struct sample s = sample_init();

	s.check = check;
	s.subject = subject;
	s.unit = unit;
	return s;
}

static char *subject_of(const struct sim_host *host, enum kind kind, size_t part)
{
	if (kind == KIND_NETWORK)
		return xasprintf("mlx5_%zu:1>gpu:GPU-%zu-%zu", part, host->number, part);
	return xasprintf("gpu:GPU-%zu-%zu", host->number, part);
}

static void add_values(struct sim_host *host)
{
	size_t kind, part;

	for (kind = 0; kind < HOST_KINDS; kind++) {
		for (part = 0; part < HOST_PARTS; part++) {
			struct sample s = sample_of(kinds[kind].check,
						    subject_of(host, (enum kind)kind, part),
						    kinds[kind].unit);

			s.locality = kinds[kind].locality;
			s.better = BETTER_HIGHER;
			host->samples[host->n_samples++] = s;
		}
	}
}

static void add_states(struct sim_host *host)
{
	static char whole[] = "host";
	size_t i;

	for (i = 0; i < N_STATES; i++) {
		struct sample s = sample_of(state_checks[i], whole, one);
		const bool count = i == STATE_GPUS || i == STATE_NICS;

		s.better = count ? BETTER_HIGHER : BETTER_NONE;
		s.ok = count ? TRI_UNKNOWN : TRI_YES;
		s.value = count ? HOST_PARTS : 0;
		host->samples[host->n_samples++] = s;
	}
	for (i = 0; i < HOST_PARTS; i++) {
		host->samples[PART_XID + i] =
			sample_of(state_checks[STATE_XID], subject_of(host, KIND_COMPUTE, i), one);
		host->samples[PART_FLAPPING + i] =
			sample_of(state_checks[STATE_FLAPPING], xasprintf("mlx5_%zu:1", i), one);
	}
	host->n_samples = SAMPLES;
}

static void host_make(struct sim_host *host, size_t number, const struct noise *noise, uint64_t seed)
{
	size_t kind, part;
	double whole;

	host->number = number;
	(void)snprintf(host->name, sizeof(host->name), "node-%05zu", number);
	(void)snprintf(host->rack, sizeof(host->rack), "rack-%03zu", number / HOSTS_OF_RACK);
	(void)snprintf(host->boot_id, sizeof(host->boot_id), "boot-%zu", number);
	host->chance = random_seeded(seed * UINT64_C(0x2545f4914f6cdd1d) + number);
	(void)random_next(&host->chance);
	whole = 1 + random_normal(&host->chance, 0, noise->host);
	for (kind = 0; kind < HOST_KINDS; kind++) {
		for (part = 0; part < HOST_PARTS; part++)
			host->part[kind][part] =
				whole * (1 + random_normal(&host->chance, 0, noise->gpu));
	}
	host->samples = xcalloc(SAMPLES, sizeof(*host->samples));
	add_values(host);
	add_states(host);
	host->report = (struct report){ .node = host->name,
					.boot_id = host->boot_id,
					.time = text_time,
					.agent = text_agent,
					.sku = sku_name,
					.samples = xcalloc(SAMPLES, sizeof(struct sample)) };
}

struct sim_host *hosts_make(size_t n, const struct noise *noise, uint64_t seed)
{
	struct sim_host *hosts = xcalloc(n, sizeof(*hosts));
	size_t i;

	for (i = 0; i < n; i++)
		host_make(&hosts[i], i, noise, seed);
	return hosts;
}

void hosts_done(struct sim_host *hosts, size_t n)
{
	size_t i, s;

	for (i = 0; i < n; i++) {
		for (s = 0; s < SAMPLES; s++) {
			if (s < VALUES || s >= PART_XID)
				free(hosts[i].samples[s].subject);
		}
		free(hosts[i].samples);
		free(hosts[i].report.samples);
	}
	free(hosts);
}

/* --- what is wrong with it --- */

bool host_ail(struct sim_host *host, const struct ailment *ailment)
{
	if (host->n_ailments == HOST_FAULTS)
		return false;
	host->ailments[host->n_ailments++] = *ailment;
	return true;
}

static bool is_now(const struct ailment *a, uint64_t now_us)
{
	return a->onset_us <= now_us && now_us < a->until_us;
}

const struct ailment *host_has(const struct sim_host *host, int kind, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < host->n_ailments; i++) {
		if (host->ailments[i].fault->kind == kind && is_now(&host->ailments[i], now_us))
			return &host->ailments[i];
	}
	return NULL;
}

bool host_shows(const struct sim_host *host, uint64_t now_us)
{
	return host->n_ailments > 0 && (host_has(host, FAULT_DYING_GPU, now_us) ||
					host_has(host, FAULT_FLAPPING_LINK, now_us));
}

void host_mend(struct sim_host *host, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < host->n_ailments; i++) {
		struct ailment *a = &host->ailments[i];

		if (a->fault->kind < FAULT_BAD_TOR && is_now(a, now_us))
			a->until_us = now_us;
	}
}

/* --- what it measures --- */

/* What of the value is left by one fault. */
static double left_by(const struct ailment *a, enum kind kind, size_t part)
{
	const double left = 1 - a->fault->slow;
	const bool here = a->gpu == part;

	switch ((enum fault_kind)a->fault->kind) {
	case FAULT_SLOW_GPU:
		return kind == KIND_COMPUTE && here ? left : 1;
	case FAULT_SLOW_HOST:
	case FAULT_ROLL_OUT:
		return kind == KIND_COMPUTE ? left : 1;
	case FAULT_SLOW_PCIE:
		return kind != KIND_COMPUTE && here ? left : 1;
	case FAULT_FLAPPING_LINK:
		return kind == KIND_NETWORK && here ? left : 1;
	case FAULT_BAD_TOR:
		return kind == KIND_NETWORK ? left : 1;
	default:
		return 1;
	}
}

/* A run that is low once: whole, or in one part. */
struct dip {
	double left; /* 1: none */
	size_t part; /* HOST_PARTS: all */
};

static struct dip draw_dip(struct sim_host *host, const struct noise *noise)
{
	struct dip dip = { 1, HOST_PARTS };

	if (random_unit(&host->chance) > noise->dip)
		return dip;
	dip.left = 1 - (0.05 + 0.10 * random_unit(&host->chance));
	if (random_unit(&host->chance) < 0.5)
		dip.part = random_below(&host->chance, HOST_PARTS);
	return dip;
}

static double measure(struct sim_host *host, const struct noise *noise, size_t i, uint64_t now_us)
{
	const size_t kind = i / HOST_PARTS, part = i % HOST_PARTS;
	double value = kinds[kind].rate * host->part[kind][part];
	size_t a;

	value *= 1 + noise->run * noise_t4(&host->chance);
	for (a = 0; a < host->n_ailments; a++) {
		if (is_now(&host->ailments[a], now_us))
			value *= left_by(&host->ailments[a], (enum kind)kind, part);
	}
	return MAX(value, 0.0);
}

static void add(struct sim_host *host, const struct sample *s)
{
	host->report.samples[host->report.n_samples++] = *s;
}

static void add_measured(struct sim_host *host, const struct noise *noise, uint64_t seed,
			 uint64_t now_us)
{
	const double shared = noise_shared(noise, seed, host->number / HOSTS_OF_RACK, now_us);
	const struct ailment *dying = host_has(host, FAULT_DYING_GPU, now_us);
	const struct ailment *driver = host_has(host, FAULT_ROLL_OUT, now_us);
	const bool new_driver = driver && driver->fault->known;
	const struct dip dip = draw_dip(host, noise);
	size_t i;

	for (i = 0; i < VALUES; i++) {
		struct sample s = host->samples[i];

		s.value = measure(host, noise, i, now_us) * shared;
		if (dip.part == HOST_PARTS || dip.part == i % HOST_PARTS)
			s.value *= dip.left;
		s.params_text = new_driver ? driver_new : driver_old;
		if (!dying || dying->gpu != i % HOST_PARTS)
			add(host, &s);
	}
}

static void add_state(struct sim_host *host, size_t i, int severity, char *note)
{
	struct sample s = host->samples[i];

	s.ok = TRI_NO;
	s.value = 1;
	s.severity = severity;
	s.note = note;
	add(host, &s);
}

static void add_known(struct sim_host *host, uint64_t now_us)
{
	static char lost[] = "Xid 79: the GPU has fallen off the bus",
		    flaps[] = "3 link flaps in 10 min";
	const struct ailment *dying = host_has(host, FAULT_DYING_GPU, now_us);
	const struct ailment *flapping = host_has(host, FAULT_FLAPPING_LINK, now_us);
	size_t i;

	for (i = 0; i < N_STATES; i++) {
		struct sample s = host->samples[VALUES + i];

		if (i == STATE_GPUS && dying)
			s.value -= 1;
		add(host, &s);
	}
	if (dying)
		add_state(host, PART_XID + dying->gpu, SEVERITY_FATAL, lost);
	if (flapping)
		add_state(host, PART_FLAPPING + flapping->gpu, SEVERITY_WARN, flaps);
}

const struct report *host_run(struct sim_host *host, const struct noise *noise, uint64_t seed,
			      const char *profile, uint64_t now_us)
{
	const bool active = profile_is_active(profile);

	host->report.seq = ++host->seq;
	host->report.profile = active ? quick_name : passive_name;
	host->report.n_samples = 0;
	if (active)
		add_measured(host, noise, seed, now_us);
	add_known(host, now_us);
	return &host->report;
}
