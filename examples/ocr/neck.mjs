// Writes the recognizer's transformer neck and head as a model for `tilework quantize`: a folder with
// config.json, model.safetensors, and for each line of the page line-N.safetensors with
//   stream [steps,120]   what enters the first block
//   pooled [steps,480]   the columns that join the neck's before the 1×3 convolution
//   logits [steps,6625]  what ONNX Runtime computes of them in float32
// Usage: node neck.mjs MODULES PAGE.png FOLDER   (MODULES: folder that holds node_modules)
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSafetensors } from './lib.mjs';
import { BOXES, STEPS, check, openModel } from './model.mjs';

const HIDDEN = 120;
const POOLED = 480;
const CLASSES = 6625;
const STREAM = 'transpose_43.tmp_0';
const POOL = 'p2o.AveragePool.1';
const LOGITS = 'p2o.Add.277';

// Our names, the model's, and shapes; weights of linears are inputs × outputs, `.w_0` and `.b_0`.
const PAIRS = [
  ...[0, 1].flatMap((layer) => [
    [`layers.${layer}.norm1`, `layer_norm_${43 + 2 * layer}`, [HIDDEN]],
    [`layers.${layer}.qkv`, `linear_${77 + 4 * layer}`, [HIDDEN, 3 * HIDDEN]],
    [`layers.${layer}.out`, `linear_${78 + 4 * layer}`, [HIDDEN, HIDDEN]],
    [`layers.${layer}.norm2`, `layer_norm_${44 + 2 * layer}`, [HIDDEN]],
    [`layers.${layer}.up`, `linear_${79 + 4 * layer}`, [HIDDEN, 2 * HIDDEN]],
    [`layers.${layer}.down`, `linear_${80 + 4 * layer}`, [2 * HIDDEN, HIDDEN]],
  ]),
  ['norm', 'layer_norm_47', [HIDDEN]],
  ['classifier', 'linear_85', [HIDDEN, CLASSES]],
];
const CONVOLUTIONS = [
  ['conv1', 'conv2d_144', 'batch_norm2d_150', [POOLED, HIDDEN, 1, 1]],
  ['conv2', 'conv2d_145', 'batch_norm2d_151', [60, 2 * POOLED, 1, 3]],
  ['conv3', 'conv2d_146', 'batch_norm2d_152', [HIDDEN, 60, 1, 1]],
];
const NORM_PARTS = ['w_0', 'b_0', 'w_1', 'w_2']; // factor, offset, mean, variance
const NORM_EPSILON = 1e-5;

const names = [
  ...PAIRS.flatMap(([, name]) => [`${name}.w_0`, `${name}.b_0`]),
  ...CONVOLUTIONS.flatMap(([, conv, norm]) => [`${conv}.w_0`,
                                               ...NORM_PARTS.map((part) => `${norm}.${part}`)]),
];

function take(out, name, shape) {
  const data = Float32Array.from(out[name].data);
  check(`values of ${name}`, data.length, shape.reduce((a, b) => a * b));
  return { dtype: 'F32', shape, data };
}

// Batch normalization as one factor and one offset a channel.
function foldNorm(out, name, width) {
  const [factor, offset, mean, variance] = NORM_PARTS.map((part) => out[`${name}.${part}`].data);
  const scale = Array.from(factor, (f, i) => f / Math.sqrt(variance[i] + NORM_EPSILON));
  return {
    weight: { dtype: 'F32', shape: [width], data: Float32Array.from(scale) },
    bias: { dtype: 'F32', shape: [width],
            data: Float32Array.from(scale, (s, i) => offset[i] - mean[i] * s) },
  };
}

function modelTensors(out) {
  const tensors = {};
  for (const [ours, name, shape] of PAIRS) {
    tensors[`${ours}.weight`] = take(out, `${name}.w_0`, shape);
    tensors[`${ours}.bias`] = take(out, `${name}.b_0`, [shape.at(-1)]);
  }
  for (const [ours, conv, norm, shape] of CONVOLUTIONS) {
    tensors[`${ours}.weight`] = take(out, `${conv}.w_0`, shape);
    const folded = foldNorm(out, norm, shape[0]);
    tensors[`${ours}.norm.weight`] = folded.weight;
    tensors[`${ours}.norm.bias`] = folded.bias;
  }
  return tensors;
}

// [1,columns,1,steps] to [steps,columns]
function turn(data, columns, steps) {
  const turned = new Float32Array(columns * steps);
  for (let c = 0; c < columns; c++) {
    for (let t = 0; t < steps; t++) turned[t * columns + c] = data[c * steps + t];
  }
  return turned;
}

if (process.argv.length !== 5) {
  console.error('usage: node neck.mjs MODULES PAGE.png FOLDER');
  process.exit(2);
}
const [modules, page, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const { run } = await openModel(modules, page, [STREAM, POOL, LOGITS, ...names]);
for (const [index, box] of BOXES.entries()) {
  const out = await run(box);
  const steps = STEPS[index];
  check(`steps of line ${index}`, out[STREAM].dims.join(), [1, steps, HIDDEN].join());
  writeSafetensors(join(folder, `line-${index}.safetensors`), {
    stream: take(out, STREAM, [steps, HIDDEN]),
    pooled: { dtype: 'F32', shape: [steps, POOLED], data: turn(out[POOL].data, POOLED, steps) },
    logits: take(out, LOGITS, [steps, CLASSES]),
  }, {});
  if (index === 0) {
    writeSafetensors(join(folder, 'model.safetensors'), modelTensors(out), { format: 'pt' });
  }
}
writeFileSync(join(folder, 'config.json'), JSON.stringify({
  model_type: 'pp_ocr_neck',
  hidden_size: HIDDEN,
  intermediate_size: 2 * HIDDEN,
  num_hidden_layers: 2,
  num_attention_heads: 8,
  pooled_size: POOLED,
  squeezed_size: 60,
  num_classes: CLASSES,
}, null, 2) + '\n');
