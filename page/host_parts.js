// SPDX-License-Identifier: Apache-2.0
/** A host's parts, to identify them: index, address, serial number, and link width. */
import { html } from './html.js';
import { useCall } from './live.js';
import { text } from './text.js';
import { Glyph, kindOf, Said, Section, Table, WORDS } from './ui.js';

/** "x8 of x16, 32 GT/s" */
export function linkWords(link) {
	if (!link || !link.width)
		return '';
	const less = link.max_width && link.width < link.max_width, slow = link.max_gts && link.gts < link.max_gts;
	return `x${link.width}${less ? ` of x${link.max_width}` : ''}${link.gts ? `, ${link.gts}${slow ? ` of ${link.max_gts}` : ''} GT/s` : ''}`;
}

const place = (p) => [p.slot && `slot ${p.slot}`, p.rail !== undefined && `rail ${p.rail}`, typeof p.numa === 'number' && `NUMA ${p.numa}`].filter(Boolean).join(', ');

const COLUMNS = [
	{ head: 'part', cell: (p) => html`<span class=${`nowrap ${p.verdict && p.verdict !== 'pass' ? 'strong' : ''}`}>${p.verdict && html`<${Glyph} name=${kindOf(p.verdict)} label=${WORDS[kindOf(p.verdict)]} /> `}<${Said}>${p.name}<//></span>` },
	{ head: 'PCI', cell: (p) => html`<code><${Said}>${p.pci || ''}<//></code>`, className: 'nowrap' },
	{ head: 'serial', cell: (p) => html`<${Said}>${p.serial || ''}<//>`, className: 'nowrap dim' },
	{ head: 'place', cell: (p) => html`<${Said}>${place(p)}<//>`, className: 'nowrap' },
	{ head: 'link', cell: (p) => html`<span class=${p.link && p.link.width < p.link.max_width ? 'strong t-fail' : ''}>${linkWords(p.link)}</span>`, className: 'nowrap' },
	{ head: 'what', cell: (p) => html`<${Said}>${p.gone ? 'gone: the newest report does not list it' : p.sentence || ''}<//>` },
];

export function Parts({ path, again }) {
	const { value, problem } = useCall(`${path}/parts`, again);
	if (problem || !value)
		return html`<${Section} title="Parts"><p class="empty">${problem ? text(problem.message) : ''}</p><//>`;
	const used = COLUMNS.filter((c) => c.head === 'part' || value.parts.some((p) => (c.head === 'link' ? p.link : c.head === 'serial' ? p.serial : c.head === 'place' ? place(p) : c.head === 'what' ? p.sentence || p.gone : true)));
	return html`<${Section} title="Parts" say="as found in the host" className="tight"><${Table} label="Parts" columns=${used} rows=${value.parts} keyOf=${(p) => p.id} empty="No report has listed its parts." shown=${40} /><//>`;
}
