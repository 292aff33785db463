// SPDX-License-Identifier: Apache-2.0
/** Actions: what was done, refused or would be done, by whom and why, and how to undo it. */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { all } from './api.js';
import { useCall, useLive } from './live.js';
import { ActionTable } from './records.js';
import { clock, count, many, sentence } from './text.js';
import { Choice, Command, Lead, Said, Section, Trouble } from './ui.js';

/** Pages fetched: the ledger is long. */
const PAGES = 3;
const some = (path, options) => all(path, { ...options, pages: PAGES });
const STATES = ['all', 'done', 'refused', 'dry-run', 'failed'];

function headline(items) {
	const last = items[0], under = items.filter((a) => a.state === 'decided').length;
	if (!last)
		return { title: 'Nothing has been done yet.' };
	const words = { done: ' was done', 'dry-run': ' would have been done', refused: ' was refused', failed: ' failed', dropped: ' was dropped', decided: ' is under way' };
	return { glyph: last.state === 'refused' || last.state === 'failed' ? 'fail' : undefined, name: 'Actions', title: html`<${Said}>${last.node}: ${last.action}${words[last.state] || ''}${under > 1 ? `, and ${count(under - 1)} more under way` : ''}.<//>` };
}

export default function Actions() {
	const { rev } = useLive(), [state, setState] = useState('all');
	const { value, problem } = useCall('/v1/actions', rev.actions, some);
	if (!value)
		return html`<${Lead} title="Actions" />${problem && html`<${Trouble} problem=${problem} />`}`;
	const rows = value.items.filter((a) => state === 'all' || a.state === state), last = value.items[0];
	return html`<${Lead} ...${headline(value.items)} prose=${last && html`The last of ${many(value.items.length, 'action')}, ${clock(last.at)} by <${Said}>${last.by}<//>: <${Said}>${sentence(last.reason)}<//>`}
		tools=${html`<${Choice} label="Which" value=${state} choices=${STATES} onChoose=${setState} /><${Command} words=${['actions']} />`} />
	<${Section} title="Ledger" say=${`newest first${value.more ? '; older ones are in assayctl' : ''}`}><${ActionTable} items=${rows} empty="No action matches." /><//>`;
}
