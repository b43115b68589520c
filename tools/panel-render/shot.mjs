// Draws dashboards: node shot.mjs PROMETHEUS SPAN POOL REPLICA OUT DASHBOARD.json...
// With OPEN=1 all rows are open; else those are that Grafana opens first, and no picture may be larger than 200 kB.
import { chromium } from 'playwright-core';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import UPNG from 'upng-js';

const [prom, span, pool, replica, out, ...dashboards] = process.argv.slice(2);
const open = process.env.OPEN === '1';
// Dashboards that are made for one replica at a time.
const one = new Set(['trtllm-replica']);
// Latencies are shown for one pool, to which a link of the fleet leads, and stages for pools that have some.
const ofPool = new Set(['trtllm-latency', 'trtllm-disaggregation']);
// The README has these in both themes, the documents all in the light one.
const inBothThemes = new Set(['trtllm-fleet']);
const root = path.resolve(import.meta.dirname, 'dist');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml' };
let dashboard = '';
const server = http.createServer((request, response) => {
  const name = new URL(request.url, 'http://x').pathname;
  const file = name === '/dashboard.json' ? dashboard : path.join(root, name === '/' ? 'index.html' : name);
  fs.readFile(file, (err, body) => {
    response.writeHead(err ? 404 : 200, { 'content-type': types[path.extname(file)] || 'application/octet-stream' });
    response.end(err ? '' : body);
  });
});
await new Promise((ok) => server.listen(0, '127.0.0.1', ok));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
// small is a picture with a palette of 256 colors: a quarter of its size, and no difference to see.
const small = (png) => {
  const picture = UPNG.decode(png);
  return Buffer.from(UPNG.encode(UPNG.toRGBA8(picture), picture.width, picture.height, 256));
};
let failed = 0;
for (dashboard of dashboards.map((d) => path.resolve(d))) {
  const text = JSON.parse(fs.readFileSync(dashboard, 'utf8'));
  // As high as the dashboard, for tables draw only the rows that can be seen.
  const height = 60 + 38 * (Math.max(...text.panels.map((p) => p.gridPos.y + p.gridPos.h))
    + (open ? text.panels.reduce((sum, p) => sum + Math.max(0, ...(p.panels ?? []).map((q) => q.gridPos.y + q.gridPos.h - p.gridPos.y - 1)), 0) : 0));
  for (const theme of inBothThemes.has(text.uid) ? ['light', 'dark'] : ['light']) {
    const page = await browser.newPage({ viewport: { width: 1608, height } });
    page.on('pageerror', (e) => { failed++; console.error('error:', String(e.stack).slice(0, 600)); });
    await page.goto(`http://127.0.0.1:${server.address().port}/?prom=${encodeURIComponent(prom)}&span=${span}&theme=${theme}${open ? '&open' : ''}${one.has(text.uid) ? '&var-replica_id=' + replica : ''}${ofPool.has(text.uid) ? '&var-pool_id=' + encodeURIComponent(pool) : ''}`);
    await page.waitForFunction(() => window.__want && (window.__done || 0) >= window.__want, null, { timeout: 60000 });
    await page.waitForTimeout(1000);
    const seen = await page.evaluate(() => ({ missing: window.__missing, errors: window.__errors || [], texts: [...document.querySelectorAll('pre.error')].map((x) => x.textContent) }));
    failed += seen.errors.length + seen.texts.length;
    const picture = small(await page.screenshot({ fullPage: true }));
    const name = `${path.basename(dashboard, '.json')}-${theme}.png`;
    console.log(name, Math.round(picture.length / 1000), 'kB', JSON.stringify(seen));
    if (picture.length > 200_000 && !open) {
      failed++;
      console.error('error:', name, 'is larger than 200 kB');
    }
    fs.writeFileSync(path.join(out, name), picture);
    await page.close();
  }
}
await browser.close();
server.close();
process.exit(failed ? 1 : 0);
