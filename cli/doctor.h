/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl doctor: can this machine work with the controller, and does that protect the fleet now?
 * One line a check, as `assay doctor` has on a host. Nothing is changed.
 */
#pragma once

struct request;

/* The command: enum status. */
int doctor_run(const struct request *request);
