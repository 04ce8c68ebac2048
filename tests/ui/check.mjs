// SPDX-License-Identifier: MIT
// check.mjs -- drives flame graphs and pages as a user does: check.mjs FOLDER [SHOTS].
//
// FOLDER has what tests/e2e/flame.sh made there: flame.svg, diff.svg, hostile.svg, many.svg and page.html,
// diff.html, hostile.html, many.html. Their figures are known from the folded stacks in that script.
// Prints a line for each check and exits with 1 when one failed; 77 when there is no browser.
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {Browser, findBrowser} from './browser.mjs';

const folder = path.resolve(process.argv[2]);
const shots = process.argv[3] || null;
let passed = 0, failed = 0;

function check(what, got, wanted) {
	if (JSON.stringify(got) === JSON.stringify(wanted)) {
		passed++;
		return;
	}
	failed++;
	console.log(`FAILED ${what}\n    got:    ${JSON.stringify(got)}\n    wanted: ${JSON.stringify(wanted)}`);
}

function checkTrue(what, fine, detail) {
	check(what + (fine ? '' : ': ' + detail), fine, true);
}

const program = findBrowser();
if (program === null) {
	console.log('skipped: no chromium here');
	process.exit(77);
}
const browser = new Browser(program);

/** Opens, and at the end says that nothing was asked for and nothing went wrong. */
async function withPage(name, size, todo) {
	const page = await browser.page(...size), file = path.join(folder, name);
	if (!existsSync(file)) {
		console.log('left out: no ' + name);
		return;
	}
	try {
		await todo(page, await page.open(file));
	} catch (error) {
		check(name + ': went through', error.message, '');
	}
	check(name + ': requests', page.requests.filter(url => url !== 'file://' + file && !url.startsWith('file://' + file + '?')), []);
	check(name + ': errors', page.errors, []);
	if (shots)
		await page.shot(path.join(shots, name + '.png'));
}

const text = (page, selector) => page.run(`document.querySelector(${JSON.stringify(selector)}).textContent`);
/** Words in the boxes of an SVG, biggest figure of the picture first. */
const labels = page => page.run(`[...document.querySelectorAll('#boxes text')].map(t => t.textContent)`);
const boxOf = (page, name) => page.run(`(() => { const t = [...document.querySelectorAll('#boxes text')]
	.find(e => e.textContent.startsWith(${JSON.stringify(name)}));
	const r = t.parentNode.querySelector('rect'), b = r.getBoundingClientRect();
	return {x: b.x, y: b.y, w: b.width, fill: r.getAttribute('fill'), cls: r.getAttribute('class')}; })()`);

async function clickBox(page, name) {
	const b = await boxOf(page, name);
	await page.click(b.x + Math.min(20, b.w / 2), b.y + 8);
}

await withPage('run.html', [1200, 500], async page => {
	check('run: opens with the verdict', await text(page, '#opening dd'), readFileSync(path.join(folder, 'run.verdict'), 'utf8').trim());
	check('run: labels', await page.run(`[...document.querySelectorAll('#opening dt')].map(e => e.textContent)`),
		['Verdict', 'Leaks', 'Exit', 'Command', 'Date']);
});

await withPage('flame.svg', [1200, 500], async page => {
	const all = await boxOf(page, 'all');
	check('svg: as wide as the window', Math.round(all.w), 1179);
	check('svg: too small to draw', await text(page, '#note'), '1 frame too small to draw');
	await clickBox(page, 'parse');
	check('svg: zoomed box is as wide as all', Math.round((await boxOf(page, 'parse')).w), Math.round((await boxOf(page, 'all')).w));
	check('svg: others are gone', (await labels(page)).some(l => l.startsWith('serve')), false);
	check('svg: zoom is in the address', /^#.*zoom=\d+/.test(await page.run('location.hash')), true);
	await page.press('r');
	check('svg: reset', Math.round((await boxOf(page, 'parse')).w) < 600, true);

	await page.press('Ctrl+f');
	await page.type('session');
	check('svg: found', await text(page, '#matched'), '45 % found: 90,000 samples in 1 box');
	check('svg: hit is marked', (await boxOf(page, 'session_new')).cls, 'hit');
	await page.press('Escape');
	check('svg: search ended', await text(page, '#matched'), '');
	check('svg: mark is gone', (await boxOf(page, 'session_new')).cls, null);
	await page.press('/');
	await page.type('^(parse|handle)$');
	await page.press('Enter');
	check('svg: regular expression', await text(page, '#matched'), '76 % found: 151,440 samples in 2 boxes');
	await page.press('n');
	check('svg: next match', /^Function: (handle|parse) /.test(await text(page, '#details')), true);
	await page.press('Escape');

	await page.press('r');
	await page.press('ArrowUp');
	await page.press('ArrowUp');
	check('svg: arrows', (await text(page, '#details')).startsWith('Function: main \u00b7 200,000 samples'), true);
	await page.press('ArrowUp');
	await page.press('Enter');
	check('svg: Enter zooms', Math.round((await boxOf(page, 'serve')).w), Math.round((await boxOf(page, 'all')).w));
	await page.press('Escape');
	check('svg: Escape zooms out', (await labels(page)).some(l => l.startsWith('load')), true);

	await page.press('r');
	const root = (await boxOf(page, 'all')).y;
	await page.clickOn('#button-invert');
	check('svg: inverted', (await boxOf(page, 'all')).y < root, true);
	await page.press('c');
	const merged = await labels(page);
	check('svg: callers of one function are merged', merged.filter(l => l.startsWith('string_new')), ['string_new  48,560 samples']);
	await page.press('p');
	check('svg: shares', (await labels(page)).includes('string_new  24 %'), true);
	await page.press('Tab');
	check('svg: tab reaches the buttons', await page.run('document.activeElement.id'), 'button-callers');

	await page.press('r');
	await page.press('p');
	await page.press('c');
	await page.press('i');
	const b = await boxOf(page, 'serve');
	await page.move(b.x + 30, b.y + 8);
	check('svg: tooltip', await page.run(`[...document.querySelectorAll('#tip text')].map(t => t.textContent)`),
		['serve', '132,000 samples', '66 % of all, 66 % of its caller; itself 0 samples']);
});

await withPage('diff.svg', [1200, 500], async page => {
	const shown = async name => (await labels(page)).some(l => l.startsWith(name));
	check('diff: by after', [await shown('legacy'), await shown('json')], [false, true]);
	await page.press('w');
	check('diff: by before', [await shown('legacy'), await shown('json')], [true, false]);
	await page.press('w');
	check('diff: by the larger', [await shown('legacy'), await shown('json')], [true, true]);
	const red = await boxOf(page, 'session_new'), gone = await boxOf(page, 'legacy_grow'), same = await boxOf(page, 'string_new');
	const rgb = s => [1, 3, 5].map(i => parseInt(s.slice(i, i + 2), 16));
	check('diff: grew is red', rgb(red.fill)[0] > rgb(red.fill)[2] + 40, true);
	check('diff: shrank is blue', rgb(gone.fill)[2] > rgb(gone.fill)[0] + 40, true);
	check('diff: same is grey', Math.abs(rgb(same.fill)[0] - rgb(same.fill)[2]) < 10, true);
	check('diff: what is gone is drawn', gone.cls, 'gone');
	check('diff: what is new is marked', (await boxOf(page, 'json_parse')).cls, 'new');
});

await withPage('page.html', [1280, 720], async page => {
	const row = i => page.run(`[...document.querySelectorAll('#top .row')[${i}].children].map(c => c.textContent)`);
	const heads = page.run(`[...document.querySelectorAll('#panel-top .head button')].map(c => c.textContent)`);
	check('page: columns', await heads, ['Own', 'Own %', 'Total', 'Total %', 'Function']);
	check('page: largest first', (await row(0)).slice(0, 5), ['87.9 KiB', '45 %', '87.9 KiB', '45 %', 'session_new']);
	await page.clickOn('#panel-top .head button:nth-child(3)');
	check('page: by total', (await row(0)).slice(0, 5), ['0 B', '0 %', '195 KiB', '100 %', 'main']);
	await page.clickOn('#panel-top .head button:nth-child(5)');
	check('page: by name', (await row(0))[4], 'array_new');
	await page.press('/');
	await page.type('^s');
	check('page: search cuts the table', await page.run(`document.querySelectorAll('#top .row').length`), 3);
	check('page: search counts', await text(page, '#found'), '80 % found: 157 KiB in 4 boxes');
	await page.press('Enter');
	await page.press('ArrowDown');
	await page.press('ArrowDown');
	check('page: keyboard in the table', await text(page, '#top .chosen .name'), 'session_new');
	await page.press('Enter');
	check('page: Enter shows it in the flame graph', [await page.run(`document.getElementById('panel-flame').className`),
		await text(page, '#panel-flame .details b')], ['shown', 'session_new']);
	await page.press('Escape');
	check('page: Escape ends the search', await text(page, '#found'), '');
	await page.press('Enter');
	check('page: zoomed', /zoom=\d+/.test(await page.run('location.hash')), true);
	await page.press('r');
	check('page: reset', /zoom=/.test(await page.run('location.hash')), false);
	await page.press('ArrowDown');
	await page.press('ArrowDown');
	check('page: arrows', await text(page, '#panel-flame .details b'), 'main');
	const stage = await page.run(`(() => { const r = document.querySelector('.stage').getBoundingClientRect(); return {x: r.x, y: r.y}; })()`);
	await page.click(stage.x + 60, stage.y + 4 + 18 * 2 + 9);
	check('page: click zooms', /zoom=\d+/.test(await page.run('location.hash')), true);
	await page.press('3');
	const tree = await page.run(`[...document.querySelectorAll('#calls .row')].map(r => r.getAttribute('aria-level') + ' ' + r.querySelector('.name').textContent)`);
	check('page: tree', tree.slice(0, 3), ['1 all', '2 main', '3 serve']);
	await page.press('ArrowDown');
	await page.press('ArrowLeft');
	check('page: tree closes', await page.run(`document.querySelectorAll('#calls .row').length`), 1);
	await page.press('ArrowRight');
	await page.press('ArrowDown');
	check('page: tree opens', await text(page, '#calls .chosen .name'), 'main');
	await page.clickOn('#calls-up');
	check('page: callers', await page.run(`[...document.querySelectorAll('#calls .row')].slice(1, 3).map(r => r.querySelector('.name').textContent)`),
		['session_new', 'string_new']);
	await page.press('1');
	await page.press('t');
	check('page: dark', await page.run(`getComputedStyle(document.body).backgroundColor`), 'rgb(20, 24, 29)');
	const foreign = await page.run(`fetch('http://127.0.0.1:9/').then(() => 'fetched', e => 'refused')`);
	check('page: its policy refuses requests', foreign, 'refused');
	page.requests = page.requests.filter(url => url !== 'http://127.0.0.1:9/');
	check('page: nor inline scripts', await page.run(`(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1';
		document.body.append(s); return typeof window.broken; })()`), 'undefined');
	page.errors = [];
});

await withPage('diff.html', [1280, 720], async page => {
	const row = i => page.run(`[...document.querySelectorAll('#top .row')[${i}].children].map(c => c.textContent)`);
	check('page diff: total', (await text(page, '#total')).replace(/^.* · /, ''), 'live 194 KiB \u2192 257 KiB (+63.0 KiB)');
	check('page diff: grew', (await row(0)).slice(0, 3), ['+68.4 KiB', '19.5 KiB', '87.9 KiB']);
	check('page diff: gone', (await row(1)).slice(0, 3), ['\u221229.3 KiB gone', '29.3 KiB', '0 B']);
	check('page diff: new', (await row(2)).slice(0, 3), ['+28.3 KiB new', '0 B', '28.3 KiB']);
	await page.press('2');
	await page.clickOn('#flame-width-now');
	check('page diff: width', /width=now/.test(await page.run('location.hash')), true);
});

for (const name of ['hostile.svg', 'hostile.html'])
	await withPage(name, [1200, 700], async page => {
		check(name + ': nothing ran', await page.run('typeof window.broken'), 'undefined');
		check(name + ': scripts', await page.run(`document.getElementsByTagName('script').length`), 2);
		check(name + ': images', await page.run(`document.getElementsByTagName('img').length`), 0);
		await page.press('/');
		await page.type('script');
		check(name + ': found as text', / found: /.test(await text(page, name.endsWith('svg') ? '#matched' : '#found')), true);
		await page.press('Enter');
		await page.press('n');
		await page.press('ArrowRight');
		check(name + ': still nothing ran', await page.run('typeof window.broken'), 'undefined');
	});

const LIMIT = 2000;
for (const name of ['many.svg', 'many.html'])
	await withPage(name, [1280, 720], async (page, first) => {
		let ms = first;
		/* The machine may have other things to do: the best of five counts. */
		for (let again = 0; again < 4 && ms >= LIMIT; again++)
			ms = Math.min(ms, await page.open(path.join(folder, name), '?' + again));
		console.log(`${name}: opened in ${Math.round(ms)} ms`);
		checkTrue(name + ': opens within 2 s', ms < LIMIT, Math.round(ms) + ' ms');
		const begin = performance.now();
		await page.press('/');
		await page.type('f12');
		await page.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
		console.log(`${name}: searched in ${Math.round(performance.now() - begin)} ms, four keys`);
		const said = await text(page, name.endsWith('svg') ? '#matched' : '#found');
		checkTrue(name + ': found', / found: .* in [\d,]+ boxes/.test(said), said);
	});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
