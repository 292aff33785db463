/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's checks of the host itself. */
#pragma once

struct doctor;

/* Is $CONF/disabled present? */
void doctor_host_switch(struct doctor *d);

/* Reads assayd.yaml into `d`. */
void doctor_host_config(struct doctor *d);
void doctor_host_token(struct doctor *d);

/* The state directory, and the reports spooled in it. */
void doctor_host_state(struct doctor *d);
void doctor_host_spool(struct doctor *d);

void doctor_host_probes(struct doctor *d);
void doctor_host_devices(struct doctor *d);
void doctor_host_units(struct doctor *d);
void doctor_host_runs(struct doctor *d);
