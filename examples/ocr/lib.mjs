// Shared by prepare.mjs and report.mjs: SafeTensors files, .npy files, CRC-32, greedy CTC decoding.
import { readFileSync, writeFileSync } from 'node:fs';

const CRC_TABLE = new Uint32Array(256).map((_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

export function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ((crc ^ 0xffffffff) >>> 0).toString(16).toUpperCase().padStart(8, '0');
}

const ARRAYS = { F32: Float32Array, I32: Int32Array, U8: Uint8Array };

// tensors: { name: { dtype, shape, data } } with data a typed array of the dtype.
export function writeSafetensors(path, tensors, metadata) {
  const size = (name) => ARRAYS[tensors[name].dtype].BYTES_PER_ELEMENT;
  const names = Object.keys(tensors).sort((a, b) => size(b) - size(a) || (a < b ? -1 : 1));
  const header = { __metadata__: metadata };
  const parts = [];
  let offset = 0;
  for (const name of names) {
    const { dtype, shape, data } = tensors[name];
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    header[name] = { dtype, shape, data_offsets: [offset, offset + bytes.length] };
    parts.push(bytes);
    offset += bytes.length;
  }
  let text = Buffer.from(JSON.stringify(header));
  text = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(path, Buffer.concat([length, text, ...parts]));
}

export function readSafetensors(path) {
  const file = readFileSync(path);
  const length = Number(file.readBigUInt64LE(0));
  const { __metadata__: metadata = {}, ...entries } = JSON.parse(file.subarray(8, 8 + length));
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
    const copy = file.buffer.slice(file.byteOffset + 8 + length + begin,
                                   file.byteOffset + 8 + length + end);
    tensors[name] = { dtype, shape, data: new ARRAYS[dtype](copy) };
  }
  return { tensors, metadata };
}

function halfToNumber(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + mantissa) * 2 ** (exponent - 25) : mantissa * 2 ** -24);
}

// A C-ordered two-byte or four-byte float .npy file as { shape, data: Float32Array }.
export function readNpy(path) {
  const file = readFileSync(path);
  if (file.toString('latin1', 1, 6) !== 'NUMPY') throw new Error(`${path} is no .npy file`);
  const start = file[6] === 1 ? 10 : 12;
  const length = file[6] === 1 ? file.readUInt16LE(8) : file.readUInt32LE(8);
  const header = file.toString('latin1', start, start + length);
  const dtype = /'descr': '<(f[24])'/.exec(header);
  const shape = /'shape': \(([^)]*)\)/.exec(header);
  if (!dtype || !shape || !/'fortran_order': False/.test(header)) {
    throw new Error(`${path} holds no little-endian C-ordered f2 or f4 array`);
  }
  const body = file.buffer.slice(file.byteOffset + start + length);
  const data = dtype[1] === 'f4' ? new Float32Array(body)
                                 : Float32Array.from(new Uint16Array(body), halfToNumber);
  return { shape: shape[1].split(',').filter((s) => s.trim()).map(Number), data };
}

export function argmax(values, begin, end) {
  let best = begin;
  for (let i = begin + 1; i < end; i++) if (values[i] > values[best]) best = i;
  return best - begin;
}

// Class 0 is the blank, the last one the space; drop repeats, then blanks.
export function decodeGreedy(classes, characters) {
  let text = '';
  let previous = 0;
  for (const c of classes) {
    if (c !== previous && c !== 0) text += c <= characters.length ? characters[c - 1] : ' ';
    previous = c;
  }
  return text;
}
