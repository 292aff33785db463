// SPDX-License-Identifier: Apache-2.0
/**
 * A host's wiring: below each NUMA node its root ports, switches, GPUs and NICs, each with its upstream link. Slow links, and
 * links that lost lanes, are marked; links at reduced speed are not, because GPUs lower it when idle.
 */
import { html } from './html.js';
import { segment } from './api.js';
import { linkWords } from './host_parts.js';
import { useCall } from './live.js';
import { ofExpected, text } from './text.js';
import { Glyph, kindOf, Said, Section } from './ui.js';
import { DEEPEST, wiring } from './wiring.js';

/** "0000:16:00.0" -> "16:00.0": a host nearly always has a single segment. */
const address = (pci) => text(pci).replace(/^0000:/, '');

function nameOf(node, parts) {
	const part = parts.find((p) => p.kind === 'gpu' && p.pci && p.pci === node.pci);
	return { numa: () => node.id.replace(/^numa:/, 'NUMA '), root: () => `root port ${address(node.pci) || node.id}`, switch: () => `switch ${address(node.pci) || node.id}`,
		gpu: () => (part && typeof part.index === 'number' ? `GPU ${part.index}` : `GPU ${address(node.pci) || node.id}`), rnic: () => node.id.replace(/^rnic:/, '') }[node.type]?.() ?? node.id;
}

function Branch({ node, wires, bad, parts, ports, depth }) {
	const link = wires.above(node.id), found = link && bad.get(link.id), fewer = link && link.width < link.max_width, port = ports.get(node.id), below = depth < DEEPEST ? wires.below(node.id) : [];
	return html`<li><span class=${found || fewer ? 'strong' : ''}>${(found || fewer) && html`<${Glyph} name=${kindOf(found ? found.verdict : 'warn')} label=${found ? 'slow link above it' : 'fewer lanes than it has'} /> `}<${Said}>${nameOf(node, parts)}<//></span>
		<span class=${found || fewer ? 't-fail' : 'dim'}><${Said}>${[found && ofExpected(found.value, found.expected, found.unit), linkWords(link), port && `${port.switch} port ${port.port}`].filter(Boolean).join('; ')}<//></span>
		${below.length > 0 && html`<ul>${below.map((n) => html`<${Branch} key=${n.id} node=${n} wires=${wires} bad=${bad} parts=${parts} ports=${ports} depth=${depth + 1} />`)}</ul>`}</li>`;
}

/** Empty if the host has not reported its wiring. */
export function Tree({ why }) {
	const { value } = useCall(why.topology ? `/v1/topologies/${segment(why.topology)}` : null);
	if (!value || value.nodes.every((n) => n.type === 'numa'))
		return null;
	const wires = wiring(value), bad = new Map(why.items.filter((i) => i.verdict !== 'pass' && text(i.subject).includes('^')).map((i) => [i.subject, i]));
	const ports = new Map(value.neighbors.filter((n) => n.port !== '-').map((n) => [n.rnic, n]));
	return html`<${Section} title="Wiring" say="what is connected below what, with the link above each; slow links are marked"><ul class="tree" aria-label="Wiring">
		${wires.tops.map((n) => html`<${Branch} key=${n.id} node=${n} wires=${wires} bad=${bad} parts=${why.parts} ports=${ports} depth=${0} />`)}</ul><//>`;
}
