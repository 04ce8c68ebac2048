// SPDX-License-Identifier: MIT
// browser.mjs -- a headless Chromium, spoken to over a pipe: no package is needed beside node.
//
// Every request, console message and uncaught error of a page is kept, so that a test can say
// that there were none. Keys and clicks go through the browser's own input, as a user's do.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Path of a browser, or null. */
export function findBrowser() {
	if (process.env.SEEP_BROWSER)
		return process.env.SEEP_BROWSER;
	for (const dir of (process.env.PATH || '').split(':'))
		for (const name of NAMES)
			if (existsSync(path.join(dir, name)))
				return path.join(dir, name);
	return null;
}

export class Browser {
	constructor(program) {
		this.dir = mkdtempSync(path.join(tmpdir(), 'seep-ui.'));
		this.child = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
			'--no-first-run', '--disable-extensions', '--disable-background-networking', '--disable-sync',
			'--disable-component-update', '--hide-scrollbars', '--remote-debugging-pipe',
			'--user-data-dir=' + this.dir], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
		this.last = 0;
		this.waiting = new Map();
		this.pages = new Map();
		let text = '';
		this.child.stdio[4].setEncoding('utf8');
		this.child.stdio[4].on('data', data => {
			const parts = (text + data).split('\0');
			text = parts.pop();
			parts.forEach(part => this.onMessage(JSON.parse(part)));
		});
		this.child.on('exit', () => {
			for (const w of this.waiting.values())
				w.fail(new Error('the browser ended'));
		});
	}

	send(method, params = {}, sessionId = undefined) {
		const id = ++this.last;
		this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
		return new Promise((done, fail) => this.waiting.set(id, {done, fail, method}));
	}

	onMessage(m) {
		const w = this.waiting.get(m.id);
		if (w !== undefined) {
			this.waiting.delete(m.id);
			if (m.error)
				w.fail(new Error(w.method + ': ' + m.error.message));
			else
				w.done(m.result);
		} else if (this.pages.has(m.sessionId)) {
			this.pages.get(m.sessionId).onEvent(m.method, m.params);
		}
	}

	/** A page of this size. */
	async page(width, height, dark = false) {
		const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
		const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
		const page = new Page(this, sessionId);
		this.pages.set(sessionId, page);
		await page.send('Page.enable');
		await page.send('Runtime.enable');
		await page.send('Network.enable');
		await page.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
		await page.send('Emulation.setEmulatedMedia',
			{features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
		return page;
	}

	async close() {
		const ended = new Promise(done => this.child.on('exit', done));
		this.send('Browser.close').catch(() => {});
		await Promise.race([ended, new Promise(done => setTimeout(done, 3000))]);
		this.child.kill('SIGKILL');
		rmSync(this.dir, {recursive: true, force: true, maxRetries: 5});
	}
}

const KEYS = {Enter: 13, Escape: 27, Tab: 9, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, End: 35};

class Page {
	constructor(browser, sessionId) {
		this.browser = browser;
		this.sessionId = sessionId;
		this.requests = [];
		this.errors = [];
	}

	send(method, params) {
		return this.browser.send(method, params, this.sessionId);
	}

	onEvent(method, params) {
		if (method === 'Network.requestWillBeSent')
			this.requests.push(params.request.url);
		else if (method === 'Runtime.exceptionThrown')
			this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		else if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
			this.errors.push(params.args.map(a => a.value).join(' '));
	}

	/** Opens a file; milliseconds until it was loaded, its script was done, and it was drawn once. */
	async open(file, hash = '') {
		const start = performance.now();
		await this.send('Page.navigate', {url: 'file://' + file + hash});
		const ready = `document.URL.startsWith('file:') && document.readyState === 'complete'`;
		/* The page that was there before may still answer, or be gone in the middle of it. */
		while (!await this.run(ready).catch(() => false))
			await new Promise(done => setTimeout(done, 5));
		await this.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
		return performance.now() - start;
	}

	/** Value of an expression in the page. */
	async run(expression) {
		const r = await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
		if (r.exceptionDetails)
			throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
		return r.result.value;
	}

	async move(x, y) {
		await this.send('Input.dispatchMouseEvent', {type: 'mouseMoved', x, y});
	}

	async click(x, y) {
		await this.move(x, y);
		for (const type of ['mousePressed', 'mouseReleased'])
			await this.send('Input.dispatchMouseEvent', {type, x, y, button: 'left', clickCount: 1});
	}

	/** Clicks the middle of the element. */
	async clickOn(selector) {
		const at = await this.run(`(() => { const r = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
			return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`);
		await this.click(at.x, at.y);
	}

	/** Presses a key: "a", "Enter", "Ctrl+f". */
	async press(name) {
		const ctrl = name.startsWith('Ctrl+'), key = ctrl ? name.slice(5) : name;
		const code = KEYS[key] || (/^[a-z0-9]$/i.test(key) ? key.toUpperCase().charCodeAt(0) : 0);
		const text = ctrl || KEYS[key] && key !== 'Enter' ? undefined : key === 'Enter' ? '\r' : key;
		const event = {key, windowsVirtualKeyCode: code, modifiers: ctrl ? 2 : 0, text};
		await this.send('Input.dispatchKeyEvent', {type: text ? 'keyDown' : 'rawKeyDown', ...event});
		await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...event, text: undefined});
	}

	async type(text) {
		for (const c of text)
			await this.press(c);
	}

	async shot(file) {
		const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
		writeFileSync(file, Buffer.from(data, 'base64'));
	}
}
