// SPDX-License-Identifier: Apache-2.0
/**
 * Remedies for a job, with their cost and gain, what to do now, and the job without some hosts. The same as `assayctl plan`.
 * Read-only.
 */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { segment } from './api.js';
import { duration, list, number, seconds, text } from './job_model.js';
import { useCall } from './live.js';
import { many, sentence } from './text.js';
import { Command, Said, Section, Table, Trouble } from './ui.js';

const SURE = { exact: 'simulated', model: 'by a model', bound: 'at most' };
const NEEDS = { spares: 'spare hosts', restart: 'a restart', code: 'code of the job', memory: 'memory on others' };

const CHECKED = { held: 'as promised', failed: 'not as promised', open: 'too few steps yet' };

const span = (range, words) => (number(range?.low) === null || number(range?.high) === null ? words(range?.value) : `${words(range.value)} [${words(range.low)}, ${words(range.high)}]`);
const needsOf = (r) => [...list(r.needs).map((n) => NEEDS[n] || text(n)), number(r.spares_missing) ? `${r.spares_missing} of them missing` : ''].filter(Boolean).join(', ');

function gainOf(r) {
	if (!(number(r.gain_s?.value) > 0))
		return '-';
	return r.sure === 'bound' ? `up to ${seconds(r.gain_s.value)}` : span(r.gain_s, seconds);
}

const paysOf = (r) => (number(r.pays_hours?.value) === null ? '-' : span(r.pays_hours, (h) => duration(h * 3600)));

function Ways({ plan }) {
	const bold = (r, what) => html`<span class=${r.at === plan.advised ? 'strong' : r.possible ? '' : 'dim'}><${Said}>${what}<//></span>`;
	const columns = [
		{ head: 'remedy', cell: (r) => html`${bold(r, text(r.deed))}${r.at === plan.advised && html` <span class="dim">now</span>`}` }, { head: 'step then', num: true, cell: (r) => bold(r, seconds(r.after_s)) },
		{ head: 'gain per step', cell: (r) => gainOf(r) }, { head: 'costs once', num: true, cell: (r) => (r.cost_s ? duration(r.cost_s) : '-') }, { head: 'pays after', cell: (r) => paysOf(r) },
		{ head: 'needs', className: 'two', cell: (r) => html`<${Said}>${needsOf(r)}<//>` }, { head: 'known', className: 'two', cell: (r) => SURE[r.sure] || '' },
	];
	return html`<${Table} label="Remedies" columns=${columns} rows=${list(plan.remedies).map((r, at) => ({ ...r, at }))} keyOf=${(r) => r.at} />`;
}

/** The result of a remedy in the previous run. */
const Checked = ({ of }) => html`<p class="two"><strong>Checked: </strong><${Said}>${text(of.deed)}<//>: promised ${seconds(of.promised_s)} a step in run ${of.run}; run ${of.by_run} takes ${seconds(of.measured_s)} over ${many(of.steps, 'step')}: ${CHECKED[of.state] || ''}.</p>`;

/** The effect of cordoning some hosts. */
function Without({ path, rev }) {
	const [typed, setTyped] = useState(''), [hosts, setHosts] = useState('');
	const { value, problem } = useCall(hosts ? `${path}?without=${encodeURIComponent(hosts)}` : null, rev);
	const ask = (e) => {
		e.preventDefault();
		setHosts(typed.split(/[\s,]+/).filter(Boolean).join(','));
	};
	return html`<form class="filter without" onSubmit=${ask}><label for="without">What if these hosts are taken away?</label><input id="without" type="text" autocomplete="off" autocapitalize="off" spellcheck=${false} placeholder="gpu-03, gpu-04" value=${typed} onInput=${(e) => setTyped(e.target.value)} />
		<button class="btn" type="submit">Ask</button></form>
	<p role="status" class="two">${hosts && value && value.without && html`<${Said}>${sentence(text(value.without.sentence))}<//>`}</p>${hosts && problem && html`<${Trouble} problem=${problem} />`}`;
}

/** Empty if the controller has no plan. */
export function Plan({ job, rev }) {
	const path = `/v1/jobs/${segment(job.id)}/plan`, { value: plan } = useCall(path, rev);
	if (!plan)
		return null;
	return html`<${Section} title="Remedies" say=${plan.reason ? '' : 'what each costs and gains; nothing is done here'} right=${html`<${Command} words=${['plan', job.job]} />`}>
		${plan.reason ? html`<p class="empty"><${Said}>${sentence(`No plan: ${text(plan.reason)}`)}<//></p>`
			: html`<p class="now"><strong>Now: </strong><${Said}>${sentence(text(plan.sentence))}<//></p>${list(plan.checked).map((of) => html`<${Checked} key=${of.kind} of=${of} />`)}<${Ways} plan=${plan} /><${Without} path=${path} rev=${rev} />`}<//>`;
}
