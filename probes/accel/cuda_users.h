/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML's information in terms of accel.h: what must be equal for comparison, the device's state,
 * and who else computes on it.
 */
#pragma once

#include <jansson.h>

struct accel;
struct accel_condition;
struct cuda;
struct err;

/*
 * -ENODEV if a GPU is a virtual one: its speed depends on who shares it, so measurements say
 * nothing about this host.
 */
int cuda_refuse_shared(const struct cuda *c, struct err *err);
void cuda_params(const struct accel *a, unsigned device, json_t *params);
int cuda_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err);
int cuda_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err);
