/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a diagnosis is, as its investigation keeps it: "diagnosis" {"phase", "who", "stop" (the
 * advice), "stopped", "tests" {host: {"asked", "result"}}, "good" (others that are measured with
 * them), "campaign", "grouped", "unsure" (why the campaign says little), "result", "timeline"
 * [{"at", "text"}]}. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/investigation.h"
#include "lib/base/macro.h"

enum diagnosis_record_phase {
	DIAGNOSIS_RECORD_STOPPING,
	DIAGNOSIS_RECORD_HOSTS,
	DIAGNOSIS_RECORD_GROUPS,
	DIAGNOSIS_RECORD_DONE
};
extern const char *const diagnosis_record_phases[]; /* "stopping" ... */

enum { DIAGNOSIS_RECORD_LINES_MAX = 64 }; /* of its timeline; what is beyond is only its sentence */

/* Borrowed; NULL: it is no text. */
const char *diagnosis_record_text(const json_t *object, const char *key);

/* Takes the value. */
void diagnosis_record_put(json_t *object, const char *key, json_t *value);

/* Is it in this phase, an enum diagnosis_record_phase? And from now on it is. */
bool diagnosis_record_is_in(const struct investigation *inv, int phase);
void diagnosis_record_go_to(struct investigation *inv, int phase);

/* Another line of its timeline, which is its sentence from now on. Takes the text. */
void diagnosis_record_note(struct investigation *inv, uint64_t now_us, char *text);

/* Of a host; takes the sentence. */
void diagnosis_record_say(struct investigation_host *host, int state, char *sentence);

/* The names of all of its hosts, new reference. */
json_t *diagnosis_record_names(const struct investigation *inv);
