// Checks a summary of the demo: node expect.mjs SUMMARY.json real|generated right|zero
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const [path, weights, kind] = process.argv.slice(2);
const summary = JSON.parse(readFileSync(path, 'utf8'));
assert.equal(summary.weights, weights);
assert.equal(summary.pass, kind === 'right');
if (kind === 'zero') {
  // The bias alone says blank everywhere.
  assert.equal(summary.nonblank_agreement, 0);
  for (const line of summary.lines) assert.ok(line.cosine < 0.5, `cosine ${line.cosine}`);
}
if (kind === 'zero' && weights === 'real') {
  assert.ok(Math.abs(summary.step_agreement - 0.556) < 0.001, `${summary.step_agreement}`);
}
if (kind === 'right') {
  assert.ok(summary.least_cosine >= (weights === 'real' ? 0.9998 : 0.999));
  assert.ok(summary.nonblank_agreement > 0.8);
}
if (kind === 'right' && weights === 'real') {
  assert.ok(summary.step_agreement >= 0.985);
  for (const i of [0, 1, 2, 5, 6]) assert.equal(summary.lines[i].chip, summary.lines[i].float);
  assert.equal(summary.lines[0].chip, 'Region-based segmentation');
}
console.log(`${weights} weights, ${kind}: as expected`);
