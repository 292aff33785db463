// SPDX-License-Identifier: Apache-2.0
/** A host's nodes and links (topology/1) as a tree. */

/** Deeper than any real host: such a topology has a cycle. */
export const DEEPEST = 12;
const TYPES = ['numa', 'root', 'switch', 'gpu', 'rnic'];
const order = (a, b) => TYPES.indexOf(a.type) - TYPES.indexOf(b.type) || (a.id < b.id ? -1 : 1);

/**
 * @param {{nodes: any[], links: any[]}} topology
 * @returns {{tops: any[], below: (id: string) => any[], above: (id: string) => any}} root nodes; children of a node; its upstream link
 */
export function wiring(topology) {
	const nodes = new Map(topology.nodes.map((n) => [n.id, n])), up = new Map(), down = new Map();
	for (const link of topology.links) {
		const a = nodes.get(link.a), b = nodes.get(link.b);
		if (!a || !b || a.type === 'numa' || up.has(a.id))
			continue;
		up.set(a.id, link);
		down.set(b.id, [...(down.get(b.id) || []), a].sort(order));
	}
	return { tops: topology.nodes.filter((n) => !up.has(n.id)).sort(order), below: (id) => down.get(id) || [], above: (id) => up.get(id) || null };
}
