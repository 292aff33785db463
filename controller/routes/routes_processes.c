/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks running on a host, reported by the host. These are claims of its processes, so all that is
 * believed is that the host has such a rank (controller/job/placement.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/jobs.h"
#include "controller/job/placement.h"
#include "controller/job/summary.h"
#include "controller/routes/routes.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/rank_env.h"

#define FORMAT "assay-processes/1"

/* Of a process: ten years. */
#define AGE_MAX_S 315360000.0

enum { BOOT_MAX = 64, POD_SIZE = 36 };

/* --- one process --- */

struct claims {
	char *rank, *procid, *job, *run, *slurm_job, *slurm_cluster, *slurm_restarts;
};

static void claims_release(struct claims *c)
{
	free(c->rank);
	free(c->procid);
	free(c->job);
	free(c->run);
	free(c->slurm_job);
	free(c->slurm_cluster);
	free(c->slurm_restarts);
}

#define CLAIM(member) offsetof(struct claims, member)
static const struct jfield claim_fields[] = {
	{ "RANK", J_STRING, CLAIM(rank), 0 },
	{ "SLURM_PROCID", J_STRING, CLAIM(procid), 0 },
	{ "ASSAY_JOB", J_STRING, CLAIM(job), 0 },
	{ "ASSAY_RUN", J_STRING, CLAIM(run), 0 },
	{ "SLURM_JOB_ID", J_STRING, CLAIM(slurm_job), 0 },
	{ "SLURM_CLUSTER_NAME", J_STRING, CLAIM(slurm_cluster), 0 },
	{ "SLURM_RESTART_COUNT", J_STRING, CLAIM(slurm_restarts), 0 },
};

/* The public name of its job, new memory; NULL: none. */
static char *job_of(const struct claims *c)
{
	CLEANUP(freep) char *name = rank_env_job(c->job, c->slurm_cluster, c->slurm_job);

	return name && jobs_name_ok(name) ? TAKE(name) : NULL;
}

struct process {
	uint64_t start;
	double age_s;
	char *pod;
	json_t *env;
};

static void process_release(struct process *p)
{
	free(p->pod);
	json_decref(p->env);
}

#define PROCESS(member) offsetof(struct process, member)
static const struct jfield process_fields[] = {
	{ "start", J_U64, PROCESS(start), J_REQUIRED, 0, (double)(INT64_C(1) << 53) },
	{ "age_s", J_REAL, PROCESS(age_s), J_REQUIRED, 0, AGE_MAX_S },
	{ "pod", J_STRING, PROCESS(pod), 0 },
	{ "env", J_OBJECT, PROCESS(env), J_REQUIRED },
};

/* Returns 1 with the claim in `ret`, its texts in new memory; 0 if there is nothing usable. */
static int read_claims(const struct jval *v, const struct process *process,
		       struct store_placement *ret, struct err *err)
{
	CLEANUP(claims_release) struct claims claims = { .rank = NULL };
	CLEANUP(freep) char *job = NULL;
	const struct jval env = jval_get(v, "env"), pod = jval_get(v, "pod");
	int64_t rank;
	int r = jval_decode(&env, claim_fields, ARRAY_SIZE(claim_fields), 0, &claims, err);

	if (r == 0 && process->pod && strlen(process->pod) != POD_SIZE)
		r = jval_fail(&pod, err, "is not a pod UID");
	if (r < 0)
		return r;
	rank = rank_env_number(claims.rank ? claims.rank : claims.procid, SUMMARY_RANKS_MAX - 1);
	job = job_of(&claims);
	if (rank < 0 || !job)
		return 0;
	*ret = (struct store_placement){
		.job = TAKE(job),
		.run = rank_env_run(claims.run, claims.slurm_restarts),
		.rank = rank,
		.source = PLACEMENT_AGENTS,
		.start = (int64_t)process->start,
		.pod = xstrdup(process->pod),
	};
	return 1;
}

/* --- all processes --- */

struct said {
	char *format, *boot_id;
	json_t *processes;
	struct store_placement list[STORE_PLACEMENTS_AT_ONCE];
	size_t n;
};

static void said_release(struct said *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		free((char *)(uintptr_t)s->list[i].job);
		free((char *)(uintptr_t)s->list[i].pod);
	}
	free(s->format);
	free(s->boot_id);
	json_decref(s->processes);
}

#define SAID(member) offsetof(struct said, member)
static const struct jfield said_fields[] = {
	{ "format", J_STRING, SAID(format), J_REQUIRED },
	{ "boot_id", J_STRING, SAID(boot_id), J_REQUIRED },
	{ "processes", J_JSON, SAID(processes), J_REQUIRED },
};

static int add_process(const struct jval *v, uint64_t now_us, struct said *said, struct err *err)
{
	CLEANUP(process_release) struct process process = { .pod = NULL };
	struct store_placement *p = &said->list[said->n];
	int r = jval_decode(v, process_fields, ARRAY_SIZE(process_fields), 0, &process, err);

	if (r == 0)
		r = read_claims(v, &process, p, err);
	if (r <= 0)
		return r;
	p->from_us = now_us - MIN(now_us, (uint64_t)(process.age_s * USEC_PER_SEC));
	said->n++;
	return 0;
}

static int read_said(const struct jval *root, uint64_t now_us, struct said *said, struct err *err)
{
	const struct jval format = jval_get(root, "format"), boot = jval_get(root, "boot_id"),
			  processes = jval_get(root, "processes");
	int r = jval_decode(root, said_fields, ARRAY_SIZE(said_fields), 0, said, err);
	size_t i;

	if (r == 0 && !streq(said->format, FORMAT))
		r = jval_fail(&format, err, "is not " FORMAT);
	if (r == 0 && strlen(said->boot_id) > BOOT_MAX)
		r = jval_fail(&boot, err, "has more than %d bytes", BOOT_MAX);
	if (r == 0)
		r = jval_need_array(&processes, err);
	if (r == 0 && json_array_size(processes.value) > STORE_PLACEMENTS_AT_ONCE)
		r = jval_fail(&processes, err, "has more than %d", STORE_PLACEMENTS_AT_ONCE);
	for (i = 0; r == 0 && i < json_array_size(processes.value); i++) {
		const struct jval process = jval_at(&processes, i);

		r = add_process(&process, now_us, said, err);
	}
	return r;
}

/* --- the call --- */

static int parse(struct call *call, json_t **ret, struct err *err)
{
	size_t length;
	bool gzip = false;
	const void *bytes = call_body(call, &length, &gzip);
	int r;

	if (gzip)
		return err_set(err, EBADMSG, "processes: must not be compressed");
	r = json_parse(bytes, length, "processes", ret, err);
	return r == -EINVAL ? -EBADMSG : r;
}

static void keep(struct service *s, struct call *call, const struct said *said, uint64_t now_us)
{
	const struct store_placed placed = {
		.node = call_segment(call),
		.boot_id = said->boot_id,
		.now_us = now_us,
		.list = said->list,
		.n = said->n,
		.hosts_max = s->settings->nodes_max,
	};
	struct waiting waiting = { .call = call, .status = 200 };
	struct err err = ERR_INIT;
	int r = store_set_placements(s->store, &placed, &err);

	if (r < 0) {
		if (r != -EDQUOT)
			service_failed(s, &err);
		call_refuse(call, 503, "the ranks could not be stored: %s", err.msg);
		return;
	}
	waiting.answer = json_pack("{s:I}", "ranks", (json_int_t)said->n);
	service_wait(s, &waiting);
}

void routes_put_processes(void *context, struct call *call)
{
	CLEANUP(said_release) struct said said = { .n = 0 };
	CLEANUP(json_freep) json_t *value = NULL;
	const uint64_t now_us = clock_real_us();
	struct service *s = context;
	struct err err = ERR_INIT;
	struct jval root;
	int r;

	if (!routes_may_speak(s, call, "which ranks run") || stands_by(s, call))
		return;
	if (service_full(s)) {
		call_refuse(call, 503, "too many requests at once");
		return;
	}
	r = parse(call, &value, &err);
	if (r == 0) {
		root = jval_root(value, "processes");
		r = read_said(&root, now_us, &said, &err);
	}
	if (r < 0)
		call_refuse(call, status_of_content(r), "%s", err.msg);
	else
		keep(s, call, &said, now_us);
}
