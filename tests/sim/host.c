/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"

static char text_time[] = "2026-01-01T00:00:00.000Z", text_agent[] = "sim";
static char one[] = "1";

static const struct {
	char *check, *unit, *locality, *probe;
	size_t first, parts; /* of the host's samples */
} kinds[HOST_KINDS] = {
	[KIND_COMPUTE] = { (char[]){ "gemm.rate" }, (char[]){ "FLOP/s" }, (char[]){ "self" },
			   (char[]){ "gemm" }, 0, HOST_PARTS },
	[KIND_COPY] = { (char[]){ "memory.h2d_bw" }, (char[]){ "B/s" }, (char[]){ "node" },
			(char[]){ "memory" }, HOST_PARTS, HOST_PARTS },
	[KIND_NETWORK] = { (char[]){ "loopback.write_bw" }, (char[]){ "B/s" }, (char[]){ "pix" },
			   (char[]){ "loopback" }, HOST_PARTS * 2, HOST_PARTS },
	[KIND_MEMORY] = { (char[]){ "memory.read_bw" }, (char[]){ "B/s" }, (char[]){ "node" },
			  (char[]){ "memory" }, HOST_PARTS * 3, HOST_NUMA },
};

/* The old and new driver of a roll-out, in the params of samples. */
#define DRIVER_OLD "550.54.15"
#define DRIVER_NEW "570.86.15"
#define FIRMWARE "28.39.2048"
#define FIRMWARE_OTHER "28.40.1000"
/* The GEMM shape and copy size in the rows of SKU files. */
#define SIZES \
	"\"dtype\":\"bf16\",\"power_limit_w\":700,\"shape\":\"8192x8192x8192\",\"size\":536870912"
static const char *const params_texts[HOST_PARAMS] = {
	[PARAMS_DRIVER_OLD] = "{\"driver\":\"" DRIVER_OLD "\"," SIZES "}",
	[PARAMS_DRIVER_NEW] = "{\"driver\":\"" DRIVER_NEW "\"," SIZES "}",
	[PARAMS_FIRMWARE] = "{\"firmware\":\"" FIRMWARE "\"}",
	[PARAMS_FIRMWARE_OTHER] = "{\"firmware\":\"" FIRMWARE_OTHER "\"}",
};

/* States; one sample for the whole host unless something is wrong. */
enum state { STATE_GPUS, STATE_NICS, STATE_PORTS, STATE_XID, STATE_FLAPPING, N_STATES };

static char *const state_checks[N_STATES] = {
	[STATE_GPUS] = (char[]){ "inventory.gpus" },
	[STATE_NICS] = (char[]){ "inventory.nics" },
	[STATE_PORTS] = (char[]){ "inventory.ports_active" },
	[STATE_XID] = (char[]){ "gpu.xid" },
	[STATE_FLAPPING] = (char[]){ "rnic.flapping" },
};

/* Approximate; converts probabilities per day. */
enum { ACTIVE_RUNS_A_DAY = 5 };

/* Measured values first, then states, then one state of each part. */
enum {
	VALUES = HOST_PARTS * 3 + HOST_NUMA,
	PART_XID = VALUES + N_STATES,
	PART_FLAPPING = PART_XID + HOST_PARTS,
	SAMPLES = PART_FLAPPING + HOST_PARTS,
};

/* The values that a profile measures besides states; other profiles measure all. */
static const struct {
	char *profile;
	unsigned measures; /* bits of enum kind */
} profiles[] = {
	{ (char[]){ "passive" }, 0 },
	{ (char[]){ "rung-gemm" }, 1 << KIND_COMPUTE },
	{ (char[]){ "rung-load" }, 1 << KIND_COMPUTE | 1 << KIND_COPY | 1 << KIND_MEMORY },
	{ (char[]){ "quick" }, (1 << HOST_KINDS) - 1 },
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
	if (kind == KIND_MEMORY)
		return xasprintf("numa:%zu>numa:%zu", part, part);
	return xasprintf("gpu:GPU-%zu-%zu", host->number, part);
}

static void add_values(struct sim_host *host)
{
	size_t kind, part;

	for (kind = 0; kind < HOST_KINDS; kind++) {
		for (part = 0; part < kinds[kind].parts; part++) {
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
		const bool count = i <= STATE_PORTS;

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

/* Returns the settings in its reports. Harmless differences between hosts are common. */
static json_t *make_env(const struct sim_host *host, bool new_driver, bool other_bios)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "driver", new_driver ? DRIVER_NEW : DRIVER_OLD,
			 "bios", other_bios ? FAULT_BIOS : "2.4.1", "kernel",
			 host->other_kernel ? "5.15.0-1071" : "5.15.0-1066", "rnic_firmware",
			 host->other_firmware ? FIRMWARE_OTHER : FIRMWARE);
}

void host_boot(struct sim_host *host, const struct noise *noise)
{
	size_t part;

	(void)snprintf(host->boot_id, sizeof(host->boot_id), "boot-%zu-%u", host->number,
		       ++host->boots);
	for (part = 0; part < HOST_PARTS; part++)
		host->boot[part] = 1 + random_normal(&host->chance, 0, noise->boot);
}

static void make_parts(struct sim_host *host, const struct noise *noise)
{
	const double whole = 1 + random_normal(&host->chance, 0, noise->host);
	size_t part;

	for (part = 0; part < HOST_PARTS; part++) {
		double *at[HOST_KINDS];
		size_t kind;

		for (kind = 0; kind < HOST_KINDS; kind++)
			at[kind] = &host->part[kind][part];
		*at[KIND_COMPUTE] = noise_silicon(&host->chance, noise->gpu * noise->spread);
		*at[KIND_COPY] = 1 + random_normal(&host->chance, 0, noise->link);
		*at[KIND_NETWORK] = 1 + random_normal(&host->chance, 0, noise->link);
		*at[KIND_MEMORY] = 1 + random_normal(&host->chance, 0, noise->memory);
		for (kind = 0; kind < HOST_KINDS; kind++)
			*at[kind] *= whole;
	}
}

static void host_make(struct sim_host *host, const struct faults *faults, size_t nodes)
{
	const struct noise *noise = &faults->noise;
	const struct world *world = &faults->world;
	size_t number = host->number, kind, i;

	host->model = world_sku_of(world, nodes, number);
	host->rack_number = number / world->rack;
	host->height = (double)(number % world->rack) / (double)world->rack;
	world_name(world, host->model, host->sku);
	for (kind = 0; kind < HOST_KINDS; kind++)
		host->rates[kind] = world_rate(world, host->model, (enum kind)kind);
	(void)snprintf(host->name, sizeof(host->name), "node-%05zu", number);
	(void)snprintf(host->rack, sizeof(host->rack), "rack-%03zu", host->rack_number);
	make_parts(host, noise);
	host->other_firmware = random_unit(&host->chance) < noise->other;
	host->other_kernel = random_unit(&host->chance) < noise->other;
	host_boot(host, noise);
	host->samples = xcalloc(SAMPLES, sizeof(*host->samples));
	for (i = 0; i < HOST_PARAMS; i++)
		host->params[i] = json_loads(params_texts[i], 0, NULL);
	add_values(host);
	add_states(host);
	host->report = (struct report){ .node = host->name,
					.boot_id = host->boot_id,
					.time = text_time,
					.agent = text_agent,
					.sku = host->sku,
					.env = make_env(host, false, false),
					.samples = xcalloc(SAMPLES, sizeof(struct sample)),
					.problems = host->problems };
}

struct sim_host *hosts_make(size_t n, const struct faults *faults, uint64_t seed)
{
	struct sim_host *hosts = xcalloc(n, sizeof(*hosts));
	size_t i;

	for (i = 0; i < n; i++) {
		hosts[i].number = i;
		hosts[i].chance = random_seeded(seed * UINT64_C(0x2545f4914f6cdd1d) + i);
		(void)random_next(&hosts[i].chance);
		host_make(&hosts[i], faults, n);
	}
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
		json_decref(hosts[i].report.env);
		for (s = 0; s < HOST_PARAMS; s++)
			json_decref(hosts[i].params[s]);
	}
	free(hosts);
}

/* --- faults --- */

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

/* A storm is active a quarter of the time, each time for as long as a passive run looks back. */
static const struct ailment *storm(const struct sim_host *host, int kind, uint64_t now_us)
{
	struct random lot = random_seeded(host->number << 32 ^ now_us / (5 * USEC_PER_MIN));

	(void)random_next(&lot);
	return random_unit(&lot) < 0.25 ? host_has(host, kind, now_us) : NULL;
}

bool host_shows(const struct sim_host *host, uint64_t now_us)
{
	return host->n_ailments > 0 &&
	       (host_has(host, FAULT_DYING_GPU, now_us) ||
		host_has(host, FAULT_FLAPPING_LINK, now_us) ||
		storm(host, FAULT_FLAP_STORM, now_us) || storm(host, FAULT_XID_STORM, now_us));
}

void host_mend(struct sim_host *host, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < host->n_ailments; i++) {
		struct ailment *a = &host->ailments[i];

		if (fault_traits[a->fault->kind].mends && is_now(a, now_us))
			a->until_us = now_us;
	}
}

/* --- what a run measures --- */

/* Returns the factor that one fault leaves of a value. */
static double left_by(const struct ailment *a, enum kind kind, size_t part)
{
	const double left = 1 - a->fault->slow;
	const bool here = part == a->gpu;

	switch ((enum fault_kind)a->fault->kind) {
	case FAULT_SLOW_GPU:
	case FAULT_TOO_FAST:
		return kind == KIND_COMPUTE && here ? left : 1;
	case FAULT_SLOW_HOST:
	case FAULT_HOT_RACK:
	case FAULT_SETTING:
	case FAULT_SLOW_JOB:
		return kind == KIND_COMPUTE ? left : 1;
	case FAULT_ROLL_OUT:
		return kind != KIND_MEMORY ? left : 1;
	case FAULT_SLOW_PCIE:
		return (kind == KIND_COPY || kind == KIND_NETWORK) && here ? left : 1;
	case FAULT_FLAPPING_LINK:
		return kind == KIND_NETWORK && here ? left : 1;
	case FAULT_BAD_TOR:
		return kind == KIND_NETWORK ? left : 1;
	case FAULT_LOST_CHANNEL:
		return kind == KIND_MEMORY && part == a->gpu % HOST_NUMA ? left : 1;
	default:
		return 1;
	}
}

double host_born(const struct sim_host *host, enum kind kind, size_t part)
{
	double left = 1;
	size_t i;

	for (i = 0; i < host->n_ailments; i++) {
		if (host->ailments[i].onset_us == 0)
			left *= left_by(&host->ailments[i], kind, part);
	}
	return left;
}

/* A run that is low once: all parts, or one. */
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

/* Returns the factor that all faults leave of a part now. */
static double left_of(const struct sim_host *host, enum kind kind, size_t part, uint64_t now_us)
{
	double left = 1;
	size_t a;

	for (a = 0; a < host->n_ailments; a++) {
		if (is_now(&host->ailments[a], now_us))
			left *= left_by(&host->ailments[a], kind, part);
	}
	return left;
}

double host_speed(const struct sim_host *host, const struct faults *f, uint64_t seed,
		  uint64_t now_us, struct random *lot)
{
	double slowest = INFINITY;
	size_t part;

	for (part = 0; part < HOST_PARTS; part++) {
		const double speed = host->part[KIND_COMPUTE][part] * host->boot[part] *
				     left_of(host, KIND_COMPUTE, part, now_us) *
				     (1 + f->noise.run * noise_t4(lot));

		slowest = fmin(slowest, speed);
	}
	slowest *= noise_place(&f->noise, host->height, now_us) *
		   noise_shared(&f->noise, seed, host->rack_number, now_us);
	return fmax(slowest, 0.01);
}

static double measure(struct sim_host *host, const struct noise *noise, enum kind kind, size_t part,
		      uint64_t now_us)
{
	double value = host->rates[kind] * host->part[kind][part];
	size_t a;

	if (kind == KIND_COMPUTE)
		value *= host->boot[part] * noise_place(noise, host->height, now_us);
	value *= 1 + noise->run * noise_t4(&host->chance);
	for (a = 0; a < host->n_ailments; a++) {
		if (is_now(&host->ailments[a], now_us))
			value *= left_by(&host->ailments[a], kind, part);
	}
	return MAX(value, 0.0);
}

static void add(struct sim_host *host, const struct sample *s)
{
	host->report.samples[host->report.n_samples++] = *s;
}

static enum params params_of(const struct sim_host *host, enum kind kind, bool new_driver)
{
	if (kind == KIND_NETWORK)
		return host->other_firmware ? PARAMS_FIRMWARE_OTHER : PARAMS_FIRMWARE;
	return new_driver ? PARAMS_DRIVER_NEW : PARAMS_DRIVER_OLD;
}

/* The outcome of a check in this run: its values, a busy device, or no result. */
struct luck {
	bool busy, missing;
};

static struct luck draw_luck(struct sim_host *host, const struct noise *noise, enum kind kind)
{
	static char late[] = "killed after 60 s";
	const double lot = random_unit(&host->chance);
	const struct luck luck = { lot < noise->busy,
				   lot >= noise->busy && lot < noise->busy + noise->missing };

	if (luck.missing)
		host->problems[host->report.n_problems++] = (struct problem){
			.probe = kinds[kind].probe, .code = PROBLEM_TIMEOUT, .detail = late
		};
	return luck;
}

/* Common to all values of a run. */
struct clock_pair {
	uint64_t now_us;
	double shared;
	struct dip dip;
};

static void add_kind(struct sim_host *host, const struct faults *f, enum kind kind,
		     const struct clock_pair *m)
{
	const uint64_t now_us = m->now_us;
	static char job[] = "pid 4711 (python3)";
	const struct noise *noise = &f->noise;
	const struct ailment *dying = host_has(host, FAULT_DYING_GPU, now_us);
	const struct ailment *driver = host_has(host, FAULT_ROLL_OUT, now_us);
	const struct luck luck = draw_luck(host, noise, kind);
	const enum params params = params_of(host, kind, driver && driver->fault->known);
	size_t part;

	for (part = 0; part < kinds[kind].parts; part++) {
		struct sample s = host->samples[kinds[kind].first + part];

		s.value = measure(host, noise, kind, part, now_us) * m->shared;
		if (m->dip.part == HOST_PARTS || m->dip.part == part)
			s.value *= m->dip.left;
		s.params = host->params[params];
		s.params_text = params_texts[params];
		if (luck.busy) {
			s.state = SAMPLE_BUSY;
			s.value = NAN;
			s.note = job;
		}
		if (!luck.missing && (kind == KIND_MEMORY || !dying || dying->gpu != part))
			add(host, &s);
	}
}

static void add_measured(struct sim_host *host, const struct faults *f, uint64_t seed,
			 unsigned measures, uint64_t now_us)
{ /* lint: allow parameters: the world, what of it is measured, and when */
	const struct clock_pair moment = { now_us,
					   noise_shared(&f->noise, seed, host->rack_number, now_us),
					   draw_dip(host, &f->noise) };
	size_t kind;

	host->low_once = moment.dip.left < 1;
	for (kind = 0; kind < HOST_KINDS; kind++) {
		if (measures & 1U << kind)
			add_kind(host, f, (enum kind)kind, &moment);
	}
}

static void say_env(struct sim_host *host, uint64_t now_us)
{
	const struct ailment *driver = host_has(host, FAULT_ROLL_OUT, now_us);

	json_decref(host->report.env);
	host->report.env = make_env(host, driver && driver->fault->known,
				    host_has(host, FAULT_SETTING, now_us) != NULL);
}

bool host_measured(const struct sim_host *host, const char *check)
{
	size_t i;

	for (i = 0; i < host->report.n_samples; i++) {
		const struct sample *s = &host->report.samples[i];

		if (s->state == SAMPLE_MEASURED && (!check || streq(s->check, check)))
			return true;
	}
	return false;
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
		    contained[] = "Xid 94: a contained ECC error",
		    flaps[] = "3 link flaps in 10 min";
	const struct ailment *dying = host_has(host, FAULT_DYING_GPU, now_us);
	const struct ailment *flapping = host_has(host, FAULT_FLAPPING_LINK, now_us);
	const struct ailment *flaps_now = storm(host, FAULT_FLAP_STORM, now_us);
	const struct ailment *xids_now = storm(host, FAULT_XID_STORM, now_us);
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
	if (flaps_now)
		add_state(host, PART_FLAPPING + flaps_now->gpu, SEVERITY_WARN, flaps);
	if (xids_now)
		add_state(host, PART_XID + xids_now->gpu, SEVERITY_WARN, contained);
}

void host_live(struct sim_host *host, const struct noise *noise)
{
	if (random_unit(&host->chance) < noise->reboot / ACTIVE_RUNS_A_DAY)
		host_boot(host, noise);
}

const struct report *host_run(struct sim_host *host, const struct faults *f, uint64_t seed,
			      const char *profile, uint64_t now_us)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(profiles) - 1 && !streq(profiles[i].profile, profile))
		i++;
	host->report.seq = ++host->seq;
	host->report.profile = profiles[i].profile;
	host->report.n_samples = host->report.n_problems = 0;
	if (host->n_ailments > 0)
		say_env(host, now_us);
	if (profiles[i].measures)
		add_measured(host, f, seed, profiles[i].measures, now_us);
	add_known(host, now_us);
	return &host->report;
}
