# SPDX-License-Identifier: Apache-2.0
# lib/sys: the host: files, locks, state, sysfs, PCI, kernel log, NUMA, terminal, start-up. Included by Makefile.am.
libassay_a_SOURCES += lib/sys/clock_pair.c lib/sys/clock_pair.h lib/sys/cpuinfo.c lib/sys/cpuinfo.h lib/sys/dmi.c lib/sys/dmi.h lib/sys/file.c \
	lib/sys/file.h lib/sys/host.c lib/sys/host.h lib/sys/kernel_match.c lib/sys/kernel_match.h lib/sys/kernel_rules.c \
	lib/sys/kernel_rules.h lib/sys/kmsg.c lib/sys/kmsg.h lib/sys/lock.c lib/sys/lock.h lib/sys/machine.c \
	lib/sys/machine.h lib/sys/membind.c lib/sys/membind.h lib/sys/paths.c lib/sys/paths.h lib/sys/pci_address.c \
	lib/sys/pci_address.h lib/sys/pci_slots.c lib/sys/pci_slots.h lib/sys/proc_stat.c lib/sys/proc_stat.h lib/sys/rnic_ports.c lib/sys/rnic_ports.h lib/sys/start.c lib/sys/start.h lib/sys/state.c \
	lib/sys/state.h lib/sys/sysfs.c lib/sys/sysfs.h lib/sys/table.c lib/sys/table.h lib/sys/term.c lib/sys/term.h lib/sys/checklist.c lib/sys/checklist.h \
	lib/sys/usage.c lib/sys/usage.h lib/sys/watched.c lib/sys/watched.h lib/sys/writers.c lib/sys/writers.h

# The default directories are compiled in: rebuild it for another prefix.
lib/sys/paths.$(OBJEXT): Makefile

lib/sys/paths.$(OBJEXT): AM_CPPFLAGS += $(DIRECTORY_CPPFLAGS)

libyamlread_a_SOURCES += lib/sys/kernel_rules_file.c
libtopology_a_SOURCES += lib/sys/try_child.c lib/sys/try_child.h
