/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/words.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/report/report.h"

static const struct {
	const char *words, *code;
	bool sick;
} rows[] = {
	[RDMA_OK] = { "done", NULL, false },
	[RDMA_RETRY_EXCEEDED] = { "the other side does not answer (retry exceeded)",
				  "rdma:retry-exceeded", true },
	[RDMA_RNR_EXCEEDED] = { "the other side is not ready to receive (RNR retry exceeded)",
				"rdma:rnr-exceeded", false },
	[RDMA_REMOTE_ACCESS] = { "the other side refused the access (remote access error)",
				 "rdma:remote-access", false },
	[RDMA_REMOTE_INVALID] = { "the other side rejected the request as invalid (remote invalid "
				  "request error)",
				  "rdma:remote-invalid", false },
	[RDMA_REMOTE_ERROR] = { "the other side failed (remote operation error)",
				"rdma:remote-error", true },
	[RDMA_LOCAL_ERROR] = { "this side failed (local error)", "rdma:local-error", false },
	[RDMA_FLUSHED] = { "abandoned after an earlier failure (flushed)", "rdma:flushed", false },
};

char *rdma_done_words(const struct rdma_done *done)
{
	const char *words = (size_t)done->status < ARRAY_SIZE(rows) ? rows[done->status].words
								    : "an unknown status";

	if (done->vendor)
		return xasprintf("%s, status %u, vendor error 0x%x", words, done->raw, done->vendor);
	return xasprintf("%s, status %u", words, done->raw);
}

bool rdma_status_is_sick(int status)
{
	return (size_t)status < ARRAY_SIZE(rows) && rows[status].sick;
}

static void set(struct sample *s, int state, const char *code, char *note)
{
	s->state = state;
	s->value = s->state == SAMPLE_MEASURED && s->better == BETTER_HIGHER ? 0 : NAN;
	s->ok = state == SAMPLE_MEASURED ? TRI_NO : TRI_UNKNOWN;
	free(s->code);
	s->code = code ? xstrdup(code) : NULL;
	free(s->note);
	s->note = note;
}

bool rdma_explain(const struct rdma_scene *scene, struct sample *s)
{
	CLEANUP(freep) char *words = NULL;
	int status = scene->failed.status;
	bool silent, set_up;

	if (scene->gone) {
		set(s, SAMPLE_SET_UP, "rdma:removed",
		    xasprintf("%s was removed during the measurement", scene->device));
		return true;
	}
	if (scene->taken_down) {
		set(s, SAMPLE_ABORTED, "rdma:taken-down",
		    xasprintf("%s port %u was taken down by an operator during the measurement",
			      scene->device, scene->port));
		return true;
	}
	if (scene->down) {
		set(s, SAMPLE_MEASURED, "rdma:port-down",
		    xasprintf("%s port %u went down during the measurement", scene->device,
			      scene->port));
		s->severity = SEVERITY_WARN;
		s->value = NAN;
		return true;
	}
	if (status == RDMA_OK)
		return false;
	silent = status == RDMA_RETRY_EXCEEDED;
	set_up = !rdma_status_is_sick(status) || (silent && scene->set_up);
	words = rdma_done_words(&scene->failed);
	set(s, set_up ? SAMPLE_SET_UP : SAMPLE_MEASURED,
	    (size_t)status < ARRAY_SIZE(rows) ? rows[status].code : NULL,
	    xasprintf("%s port %u: %s%s%s", scene->device, scene->port, words,
		      silent && scene->known ? "; " : "",
		      silent && scene->known ? scene->known : ""));
	return true;
}
