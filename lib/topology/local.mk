# SPDX-License-Identifier: Apache-2.0
# lib/topology: the devices of the host and their links. Included by Makefile.am.
libassay_a_SOURCES += lib/topology/topology_file.c lib/topology/topology_file.h
libtopology_a_SOURCES += lib/topology/topology.c lib/topology/topology.h lib/topology/topology_build.h \
	lib/topology/topology_json.c lib/topology/topology_load.c lib/topology/topology_pci.c lib/topology/topology_pci.h
if HAVE_HWLOC
libtopology_a_SOURCES += lib/topology/topology_hwloc.c
else
libtopology_a_SOURCES += lib/topology/topology_none.c
endif
