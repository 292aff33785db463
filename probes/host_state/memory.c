/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/sysfs.h"
#include "probes/host_state/host_state.h"

#define EDAC_DIR "/sys/devices/system/edac/mc"
#define MCE_DIR "/sys/devices/system/machinecheck"

/*
 * Corrected errors per hour of one DIMM or controller that warrant a warning (our own estimate;
 * rasdaemon offlines a page at 50 in 24 hours).
 */
#define CE_WARN_PER_HOUR 10.0

/* A kind of error and how it is judged. */
struct kind {
	const char *check, *file, *dimm_file, *words;
	double per_hour; /* finding at this rate or above */
	enum finding finding;
};

static const struct kind kinds[] = {
	{ "host.memory_ue", "ue_count", "dimm_ue_count", "uncorrectable", 0, FINDING_FAIL },
	{ "host.memory_ce", "ce_count", "dimm_ce_count", "corrected", CE_WARN_PER_HOUR,
	  FINDING_WARN },
};

static int emit_growth(struct host *h, const struct kind *kind, const char *subject, uint64_t growth)
{
	bool bad = growth && counter_per_hour(growth, h->window_s) >= kind->per_hour;
	struct sample s = host_sample(kind->check, subject, (double)growth);

	if (growth)
		s.code = xstrdup(kind->file);
	return host_emit(h, &s,
			 bad	  ? kind->finding
			 : growth ? FINDING_NOTE
				  : FINDING_GOOD,
			 "%" PRIu64 " new %s memory errors%s", growth, kind->words,
			 bad ? "; replace the DIMM if they continue" : "");
}

/* "dimm:CPU_SrcID#0_MC#0_Chan#0_DIMM#0" from its label, otherwise its position. */
static void dimm_subject(const char *mc, const char *dimm, char *ret, size_t size)
{
	CLEANUP(freep) char *label = sys_line(EDAC_DIR "/%s/%s/dimm_label", mc, dimm);

	if (label && *label)
		(void)snprintf(ret, size, "dimm:%.80s", label);
	else
		(void)snprintf(ret, size, "dimm:%s/%s", mc, dimm);
}

/* Emit one sample for each DIMM with new errors; `ret_growth` is their total growth. */
static int check_dimms(struct host *h, const struct kind *kind, const char *mc, uint64_t *ret_growth)
{
	CLEANUP(freep) char *dir = xasprintf(EDAC_DIR "/%s", mc);
	CLEANUP(strv_freep) char **dimms = sys_list(dir, "dimm");
	uint64_t sum = 0;
	size_t i;
	int r = 0;

	for (i = 0; dimms && dimms[i] && r == 0; i++) {
		CLEANUP(freep) char *name = xasprintf("%s.%s.%s", kind->file, mc, dimms[i]);
		char subject[128];
		uint64_t count = 0, growth;

		if (!sys_u64(&count, EDAC_DIR "/%s/%s/%s", mc, dimms[i], kind->dimm_file))
			continue;
		growth = counters_take(&h->counters, name, count, 32);
		sum += growth;
		dimm_subject(mc, dimms[i], subject, sizeof(subject));
		if (growth)
			r = emit_growth(h, kind, subject, growth);
	}
	*ret_growth = sum;
	return r;
}

/* Errors that are not attributed to a DIMM count against the controller. */
static int check_controller(struct host *h, const struct kind *kind, const char *mc)
{
	CLEANUP(freep) char *name = xasprintf("%s.%s", kind->file, mc);
	uint64_t count = 0, growth, of_dimms = 0;
	char subject[64];
	int r;

	if (!sys_u64(&count, EDAC_DIR "/%s/%s", mc, kind->file))
		return 0;
	growth = counters_take(&h->counters, name, count, 32);
	r = check_dimms(h, kind, mc, &of_dimms);
	(void)snprintf(subject, sizeof(subject), "mc:%.40s", mc + strlen("mc"));
	return r < 0 ? r : emit_growth(h, kind, subject, growth > of_dimms ? growth - of_dimms : 0);
}

/* Without a driver, errors are not counted: reported as a note, since VMs have none. */
static int check_edac(struct host *h)
{
	CLEANUP(strv_freep) char **controllers = sys_list(EDAC_DIR, "mc");
	size_t n = strv_len(controllers), i, k;
	struct sample s = host_sample("host.edac", "host", (double)n);
	int r = host_emit(h, &s, FINDING_NOTE,
			  n ? "%zu memory controllers count their errors"
			    : "no EDAC driver (%zu controllers): memory errors are not counted",
			  n);

	for (i = 0; i < n && r == 0; i++) {
		for (k = 0; k < ARRAY_SIZE(kinds) && r == 0; k++)
			r = check_controller(h, &kinds[k], controllers[i]);
	}
	return r;
}

static int check_machinecheck(struct host *h)
{
	CLEANUP(strv_freep) char **cpus = sys_list(MCE_DIR, "machinecheck");
	size_t n = strv_len(cpus);
	struct sample s = host_sample("host.machinecheck", "host", (double)n);

	return host_emit(h, &s, FINDING_NOTE,
			 n ? "%zu CPUs report machine checks to the kernel log"
			   : "no machine check reporting (%zu CPUs)",
			 n);
}

int host_memory(struct host *h, struct err *err UNUSED)
{
	CLEANUP(strv_freep) char **system = sys_list("/sys/devices/system", "");
	int r;

	if (!system)
		return 0;
	r = check_edac(h);
	return r < 0 ? r : check_machinecheck(h);
}
