// Makes the demo's data: crops the seven text lines of a photographed page, runs the recognition
// model up to its classifier in ONNX Runtime, and writes one SafeTensors file with
//   x [642,120]        classifier inputs of all lines, one row a time step
//   w [120,6625], bias the classifier
//   reference          the float32 logits of the whole model, [642,6625]
//   lines [7]          time steps of each line
//   characters         the class names as UTF-8 lines
// Usage: node prepare.mjs MODULES PAGE.png OUT   (MODULES: folder that holds node_modules)
//        node prepare.mjs --generated OUT        (no downloads: data of the D1 stream, no text)
import { writeSafetensors } from './lib.mjs';
import { BOXES, STEPS, check, openModel } from './model.mjs';

const INNER = 120;
const CLASSES = 6625;
const ROWS = STEPS.reduce((sum, steps) => sum + steps);

// Names inside the model of the tensors that the demo needs.
const INPUT = 'transpose_51.tmp_0';
const WEIGHT = 'linear_85.w_0';
const BIAS = 'linear_85.b_0';
const LOGITS = 'p2o.Add.277';

async function runModel(modules, pagePath) {
  const { characters, run } = await openModel(modules, pagePath, [INPUT, LOGITS, WEIGHT, BIAS]);
  const x = new Float32Array(ROWS * INNER);
  const reference = new Float32Array(ROWS * CLASSES);
  let row = 0;
  let w, bias;
  for (const [index, box] of BOXES.entries()) {
    const out = await run(box);
    check(`time steps of line ${index}`, out[INPUT].dims.join(), [1, STEPS[index], INNER].join());
    check(`logits of line ${index}`, out[LOGITS].dims.join(), [1, STEPS[index], CLASSES].join());
    x.set(out[INPUT].data, row * INNER);
    reference.set(out[LOGITS].data, row * CLASSES);
    row += STEPS[index];
    w = Float32Array.from(out[WEIGHT].data);
    bias = Float32Array.from(out[BIAS].data);
  }
  return { x, w, bias, reference, characters: new Uint8Array(characters) };
}

// splitmix64 seeded with FNV-1a-64 of the name: the data that `tilework bench` generates.
function generateTensor(name, count, sigma) {
  const mask = 0xffffffffffffffffn;
  let state = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(name)) state = ((state ^ BigInt(byte)) * 0x100000001b3n) & mask;
  const next = () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return z ^ (z >> 31n);
  };
  return new Float32Array(count).map(() => {
    let sum = 0;
    for (let i = 0; i < 12; i++) sum += Number(next() >> 40n);
    return sigma * (sum * 2 ** -24 - 6);
  });
}

function generate() {
  const x = generateTensor('x', ROWS * INNER, 1);
  const w = generateTensor('w', INNER * CLASSES, 1 / Math.sqrt(INNER));
  const bias = generateTensor('bias', CLASSES, 0.02);
  const reference = new Float32Array(ROWS * CLASSES);
  const sums = new Float64Array(CLASSES);
  for (let row = 0; row < ROWS; row++) {
    sums.set(bias);
    for (let k = 0; k < INNER; k++) {
      const value = x[row * INNER + k];
      for (let c = 0; c < CLASSES; c++) sums[c] += value * w[k * CLASSES + c];
    }
    reference.set(sums, row * CLASSES);
  }
  return { x, w, bias, reference, characters: new Uint8Array(0) };
}

const generated = process.argv[2] === '--generated';
if (process.argv.length !== (generated ? 4 : 5)) {
  console.error('usage: node prepare.mjs MODULES PAGE.png OUT | node prepare.mjs --generated OUT');
  process.exit(2);
}
const data = generated ? generate() : await runModel(process.argv[2], process.argv[3]);
writeSafetensors(process.argv.at(-1), {
  x: { dtype: 'F32', shape: [ROWS, INNER], data: data.x },
  w: { dtype: 'F32', shape: [INNER, CLASSES], data: data.w },
  bias: { dtype: 'F32', shape: [CLASSES], data: data.bias },
  reference: { dtype: 'F32', shape: [ROWS, CLASSES], data: data.reference },
  lines: { dtype: 'I32', shape: [STEPS.length], data: Int32Array.from(STEPS) },
  characters: { dtype: 'U8', shape: [data.characters.length], data: data.characters },
}, { weights: generated ? 'generated' : 'real' });
