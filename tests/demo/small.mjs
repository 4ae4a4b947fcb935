// Small generated data in the form of the demo's: node small.mjs OUT.safetensors. Class 0 is made
// the likeliest without any input, as the blank is in the recognition model.
import { writeSafetensors } from '../../examples/ocr/lib.mjs';

const LINES = [7, 5, 9];
const ROWS = 21;
const INNER = 40;
const CLASSES = 50;

let state = 12345;
function random() { // minimal standard generator
  state = (state * 48271) % 2147483647;
  return state / 2147483647 - 0.5;
}

const x = new Float32Array(ROWS * INNER).map(() => 4 * random());
const w = new Float32Array(INNER * CLASSES).map(() => random());
const bias = new Float32Array(CLASSES).map((_, i) => (i === 0 ? 6 : random() / 10));
const reference = new Float32Array(ROWS * CLASSES);
for (let row = 0; row < ROWS; row++) {
  for (let c = 0; c < CLASSES; c++) {
    let sum = bias[c];
    for (let k = 0; k < INNER; k++) sum += x[row * INNER + k] * w[k * CLASSES + c];
    reference[row * CLASSES + c] = sum;
  }
}
writeSafetensors(process.argv[2], {
  x: { dtype: 'F32', shape: [ROWS, INNER], data: x },
  w: { dtype: 'F32', shape: [INNER, CLASSES], data: w },
  bias: { dtype: 'F32', shape: [CLASSES], data: bias },
  reference: { dtype: 'F32', shape: [ROWS, CLASSES], data: reference },
  lines: { dtype: 'I32', shape: [LINES.length], data: Int32Array.from(LINES) },
  characters: { dtype: 'U8', shape: [0], data: new Uint8Array(0) },
}, { weights: 'generated' });
