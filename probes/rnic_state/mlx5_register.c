/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/mlx5_register.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/xalloc.h"
#include "probes/rnic_state/nic.h"

enum {
	PMLP = 0x5002,
	PPCNT = 0x5008,
	MCIA = 0x9014,
	PPCNT_SIZE = 256,
	PMLP_SIZE = 64,
	MCIA_SIZE = 64,
	GROUP_PHYSICAL_STATISTICS = 0x16,
	AT_PORT = 1,	 /* of PPCNT and PMLP */
	AT_GROUP = 3,	 /* of PPCNT */
	AT_COUNTERS = 8, /* of PPCNT: the time since clearing, then the counters */
	AT_MODULE = 7,	 /* of PMLP: the module of lane 0 */
	MCIA_HEAD = 16,
	MCIA_BYTES = 32, /* per read, MLX5_EEPROM_MAX_BYTES */
	COUNTER_SIZE = 8,
};

/* In register order, after the time since clearing. */
static const char *const counters[] = { "rx_bits_phy", "rx_pcs_symbol_err_phy",
					"rx_corrected_bits_phy" };

bool mlx5_register_is_of(const struct port *port)
{
	return !port->ethernet && !port->software && port->pci[0] &&
	       starts_with(port->device, "mlx5_");
}

static uint64_t counter_at(const uint8_t *at)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < COUNTER_SIZE; i++)
		value = value << 8 | at[i];
	return value;
}

int mlx5_register_wire(const struct nic *nic, const struct port *port, struct nic_stats *ret)
{
	uint8_t data[PPCNT_SIZE] = {
		[AT_PORT] = (uint8_t)port->number, [AT_GROUP] = GROUP_PHYSICAL_STATISTICS
	};
	int r = nic->read_register(nic->context, port->pci, PPCNT, data, sizeof(data));
	size_t i;

	if (r < 0)
		return r;
	*ret = (struct nic_stats){ .names = xcalloc(ARRAY_SIZE(counters), sizeof(*ret->names)),
				   .values = xcalloc(ARRAY_SIZE(counters), sizeof(*ret->values)),
				   .n = ARRAY_SIZE(counters) };
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		(void)snprintf(ret->names[i], NIC_STAT_NAME_SIZE, "%s", counters[i]);
		ret->values[i] = counter_at(data + AT_COUNTERS + (i + 1) * COUNTER_SIZE);
	}
	return 0;
}

static int module_number(const struct nic *nic, const struct port *port, uint8_t *ret)
{
	uint8_t data[PMLP_SIZE] = { [AT_PORT] = (uint8_t)port->number };
	int r = nic->read_register(nic->context, port->pci, PMLP, data, sizeof(data));

	if (r == 0)
		*ret = data[AT_MODULE];
	return r;
}

/* Read MCIA_BYTES of the module. */
static int read_piece(const struct nic *nic, const char *pci, uint8_t module,
		      const struct module_place *place, uint8_t *ret)
{
	uint8_t data[MCIA_SIZE] = {
		0, module, 0, 0, place->address, place->page, 0, place->offset, 0, 0, 0, MCIA_BYTES
	};
	int r = nic->read_register(nic->context, pci, MCIA, data, sizeof(data));

	if (r == 0 && data[3] != 0) /* status */
		return -EIO;
	if (r == 0)
		memcpy(ret, data + MCIA_HEAD, MCIA_BYTES);
	return r;
}

int mlx5_register_module(const struct nic *nic, const struct port *port,
			 const struct module_place *place, uint8_t ret[static MODULE_PART_SIZE])
{
	struct module_place at = *place;
	uint8_t module = 0;
	int r = module_number(nic, port, &module);
	size_t i;

	for (i = 0; r == 0 && i < MODULE_PART_SIZE; i += MCIA_BYTES) {
		at.offset = (uint8_t)(place->offset + i);
		r = read_piece(nic, port->pci, module, &at, ret + i);
	}
	return r;
}
