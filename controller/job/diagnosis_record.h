/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of a diagnosis as stored in its investigation: "diagnosis" {"phase", "who", "stop" (the
 * advice), "stopped", "tests" {host: {"asked", "result"}}, "good" (other hosts measured with them),
 * "campaign", "grouped", "unsure" (why the campaign says little), "result", "timeline" [{"at",
 * "text"}]}. Pure.
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

enum { DIAGNOSIS_RECORD_LINES_MAX = 64 }; /* later lines only become its sentence */

/* Borrowed; NULL if it is not a string. */
const char *diagnosis_record_text(const json_t *object, const char *key);

/* Takes ownership of the value. */
void diagnosis_record_put(json_t *object, const char *key, json_t *value);

/* Is it in this phase (enum diagnosis_record_phase)? And set the phase. */
bool diagnosis_record_is_in(const struct investigation *inv, int phase);
void diagnosis_record_go_to(struct investigation *inv, int phase);

/* Add a line to its timeline and make it the current sentence. Takes ownership of the text. */
void diagnosis_record_note(struct investigation *inv, uint64_t now_us, char *text);

/* Set state and sentence of a host. Takes ownership of the sentence. */
void diagnosis_record_say(struct investigation_host *host, int state, char *sentence);

/* The names of all its hosts. New reference. */
json_t *diagnosis_record_names(const struct investigation *inv);
