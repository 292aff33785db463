/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/nvml_field.h"

uint64_t nvml_field_number(const struct nvml_field *field)
{
	switch (field->type) {
	case NVML_DOUBLE:
		return field->value.d > 0 ? (uint64_t)field->value.d : 0;
	case NVML_U32:
		return field->value.u32;
	case NVML_ULONG:
		return field->value.ul;
	case NVML_S64:
		return field->value.s64 > 0 ? (uint64_t)field->value.s64 : 0;
	case NVML_S32:
		return field->value.s32 > 0 ? (uint64_t)field->value.s32 : 0;
	case NVML_U16:
		return field->value.u16;
	default:
		return field->value.u64;
	}
}
