// Reads what the chip computed and says what it means: adds the bias, decodes greedily, compares
// with the float model. The chip's text comes from the file of `tilework run --output` alone.
// Usage: node report.mjs DATA.safetensors CHIP.npy [COMPILE.json RUN.json] [--summary OUT.json]
// Exit 1 when the chip's logits are not close enough to the float model's.
import { readFileSync, writeFileSync } from 'node:fs';
import { argmax, decodeGreedy, readNpy, readSafetensors } from './lib.mjs';

// Lines whose classes are far enough apart that FP8 must not change a character; in the others the
// two best classes of one time step differ by less than the arithmetic's error.
const EXACT_LINES = [0, 1, 2, 5, 6];
const LIMITS = {
  real: { agreement: 0.985, cosine: 0.9998 },
  generated: { agreement: 0, cosine: 0.999 },
};

function cosine(a, b, begin, end) {
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (let i = begin; i < end; i++) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / Math.sqrt(aa * bb);
}

function classesOf(logits, classes, begin, end) {
  return Array.from({ length: end - begin },
                    (_, i) => argmax(logits, (begin + i) * classes, (begin + i + 1) * classes));
}

function compare(data, chip) {
  const { tensors, metadata } = data;
  const [rows, classes] = tensors.reference.shape;
  if (chip.shape.join() !== [rows, classes].join()) {
    throw new Error(`the chip's output has shape [${chip.shape}], not [${rows},${classes}]`);
  }
  const logits = chip.data.map((v, i) => v + tensors.bias.data[i % classes]);
  const characters = Buffer.from(tensors.characters.data).toString('utf8').split('\n');
  const real = metadata.weights === 'real';
  const lines = [];
  let row = 0;
  for (const steps of tensors.lines.data) {
    const expected = classesOf(tensors.reference.data, classes, row, row + steps);
    const found = classesOf(logits, classes, row, row + steps);
    const same = expected.filter((c, i) => c === found[i]).length;
    const marked = expected.filter((c) => c !== 0).length;
    const markedSame = expected.filter((c, i) => c !== 0 && c === found[i]).length;
    lines.push({
      steps, agreeing_steps: same, nonblank_steps: marked, agreeing_nonblank_steps: markedSame,
      cosine: cosine(tensors.reference.data, logits, row * classes, (row + steps) * classes),
      ...(real && { float: decodeGreedy(expected, characters),
                    chip: decodeGreedy(found, characters) }),
    });
    row += steps;
  }
  const sum = (key) => lines.reduce((total, line) => total + line[key], 0);
  return {
    weights: metadata.weights,
    step_agreement: sum('agreeing_steps') / sum('steps'),
    nonblank_agreement: sum('agreeing_nonblank_steps') / Math.max(1, sum('nonblank_steps')),
    least_cosine: Math.min(...lines.map((line) => line.cosine)),
    lines,
  };
}

function judge(summary) {
  const limits = LIMITS[summary.weights];
  return summary.step_agreement >= limits.agreement && summary.least_cosine >= limits.cosine &&
    (summary.weights !== 'real' ||
     EXACT_LINES.every((i) => summary.lines[i].float === summary.lines[i].chip));
}

function print(summary) {
  for (const [index, line] of summary.lines.entries()) {
    console.log(`line ${index}: ${line.agreeing_steps} of ${line.steps} steps agree, ` +
                `cosine ${line.cosine.toFixed(6)}`);
    if (summary.weights === 'real') {
      console.log(`  float: ${line.float}`);
      console.log(`  chip:  ${line.chip}`);
    }
  }
  if (summary.weights === 'generated') console.log('generated weights: there is no text to read');
  console.log(`step agreement ${summary.step_agreement.toFixed(4)}, ` +
              `least cosine ${summary.least_cosine.toFixed(6)}`);
  if (summary.cycles !== undefined) {
    console.log(`${summary.cycles} cycles, ${(summary.ideal_share * 100).toFixed(1)} % of ideal; ` +
                `compiled in ${summary.compile_seconds.toFixed(2)} s, ` +
                `simulated in ${summary.simulate_seconds.toFixed(2)} s`);
  }
  console.log(summary.pass ? 'pass' : 'FAIL');
}

const files = process.argv.slice(2);
let summaryPath;
const flag = files.indexOf('--summary');
if (flag >= 0) [, summaryPath] = files.splice(flag, 2);
if (files.length !== 2 && files.length !== 4) {
  console.error('usage: node report.mjs DATA.safetensors CHIP.npy [COMPILE.json RUN.json] ' +
                '[--summary OUT.json]');
  process.exit(2);
}
const summary = compare(readSafetensors(files[0]), readNpy(files[1]));
if (files.length === 4) {
  const [compiled, ran] = files.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')));
  Object.assign(summary, {
    cycles: ran.cycles,
    ideal_cycles: compiled.ideal_cycles,
    ideal_share: compiled.ideal_cycles / ran.cycles,
    compile_seconds: compiled.compile_seconds,
    simulate_seconds: ran.simulate_seconds,
    content_digest: compiled.content_digest,
  });
}
summary.pass = judge(summary);
print(summary);
if (summaryPath) writeFileSync(summaryPath, `${JSON.stringify(summary, null, 2)}\n`);
process.exitCode = summary.pass ? 0 : 1;
