/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PCI functions of this host according to sysfs: class, link, and the bridge above, which is
 * the parent component of the real path in /sys. A VM may hide the bridges, so that there is none.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/pci_address.h"

enum {
	PCI_DEVICES_MAX = 4096,
	PCI_CONFIG_MAX = 4096, /* bytes of extended configuration space */
	PCI_NO_PARENT = -1,
	PCI_VENDOR_AMD = 0x1002,
	PCI_VENDOR_NVIDIA = 0x10de,
};

struct pci_device {
	char address[PCI_ADDRESS_SIZE]; /* "0000:1b:00.0" */
	char above[PCI_ADDRESS_SIZE];	/* the bridge above, or "" */
	unsigned class_code;		/* base class and sub-class, as 0x0302 */
	unsigned vendor, device;
	bool is_virtual; /* an SR-IOV virtual function */
	int parent;	 /* index of the bridge above, or PCI_NO_PARENT */
	unsigned depth;	 /* bridges above it */
	/* 0 if unknown or without a link */
	double gts, max_gts; /* GT/s per lane, current and maximum */
	unsigned width, max_width;
};

struct pci_tree {
	struct pci_device *devices; /* owned; sorted by address */
	size_t n;
	bool readable; /* the directory of devices exists */
};

void pci_read(struct pci_tree *ret_tree);
void pci_release(struct pci_tree *tree);

bool pci_is_gpu(const struct pci_device *d);	/* NVIDIA or AMD */
bool pci_is_nic(const struct pci_device *d);	/* Ethernet or InfiniBand, not a virtual function */
bool pci_is_bridge(const struct pci_device *d); /* PCI to PCI */

/* Read the first 4 KiB of configuration space, less if not root. Number of bytes, 0 if none. */
size_t pci_config(const struct pci_device *d, unsigned char ret_config[static PCI_CONFIG_MAX]);

/* --- configuration space, pure; `config` has `len` bytes --- */

/* Offset of the extended capability `id`, or 0. */
size_t pci_extended_capability(const unsigned char *config, size_t len, unsigned id);

/* Port type from the PCI Express capability (PCI_PORT_...), or -1. */
int pci_port_kind(const unsigned char *config, size_t len);
enum { PCI_PORT_ENDPOINT = 0, PCI_PORT_ROOT = 4, PCI_PORT_UPSTREAM = 5, PCI_PORT_DOWNSTREAM = 6 };

/* Device control word of the PCI Express capability (PCIe base specification 7.5.3.4), or -1. */
int pci_express_control(const unsigned char *config, size_t len);

/* ATS control word (extended capability 0x000f, ibid. 10.5.1), or -1 if there is none. */
int pci_ats_control(const unsigned char *config, size_t len);
enum { PCI_ATS_ENABLED = 1 << 15 };

/*
 * ACS control word (extended capability 0x000d, PCIe base specification 7.7.11), or -1 if there is
 * none or `config` is too short.
 */
int pci_acs_control(const unsigned char *config, size_t len);
enum { PCI_ACS_REQUEST_REDIRECT = 1 << 2, PCI_ACS_COMPLETION_REDIRECT = 1 << 3 };

/* Parse "16.0 GT/s PCIe"; 0 if malformed. */
double pci_parse_speed(const char *text);
