// SPDX-License-Identifier: Apache-2.0
/** Incidents: the open ones, worst first, or all. */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { all } from './api.js';
import { useCall, useLive } from './live.js';
import { IncidentTable } from './records.js';
import { many, sentence, when } from './text.js';
import { Choice, Command, kindOf, Lead, Said, Section, Trouble } from './ui.js';

const RANK = { fail: 0, warn: 1, unsure: 2, pass: 3 };

/** Fatal, failing, warning; shared by hosts before single hosts; then newest first. */
function worstFirst(a, b) {
	return (b.fatal === true) - (a.fatal === true) || RANK[kindOf(a.verdict)] - RANK[kindOf(b.verdict)] || b.node.startsWith('domain:') - a.node.startsWith('domain:') || when(b.opened) - when(a.opened);
}

function headline(open) {
	if (!open.length)
		return { glyph: 'pass', title: 'No incident is open.' };
	const first = open[0];
	return { glyph: kindOf(first.verdict), name: `${many(open.length, 'incident')} open`, title: html`<${Said}>${sentence(first.sentence)}<//>` };
}

export default function Incidents() {
	const { rev } = useLive(), [state, setState] = useState('open');
	const { value, problem } = useCall(`/v1/incidents?state=${state}`, rev.incidents, all);
	if (!value)
		return html`<${Lead} title="Incidents" />${problem && html`<${Trouble} problem=${problem} />`}`;
	const open = value.items.filter((i) => i.state === 'open').sort(worstFirst), hosts = new Set(open.map((i) => i.node)).size;
	const rows = state === 'open' ? open : [...value.items].sort((a, b) => when(b.opened) - when(a.opened));
	return html`<${Lead} ...${headline(open)} prose=${open.length ? `The worst of ${many(open.length, 'open incident')} on ${many(hosts, 'host')}.` : ''}
		tools=${html`<${Choice} label="Which" value=${state} choices=${['open', 'all']} onChoose=${setState} /><${Command} words=${['incidents', ...(state === 'all' ? ['--all'] : [])]} />`} />
	<${Section} title=${state === 'open' ? 'Open' : 'All on record'} say=${state === 'open' ? 'worst first' : `newest first${value.more ? '; older ones are not shown' : ''}`}><${IncidentTable} items=${rows} empty="No incident is open." /><//>`;
}
