// A file with the tensor w of the given shape, all zero: node zeros.mjs OUT.safetensors ROWS COLUMNS
import { writeSafetensors } from '../../examples/ocr/lib.mjs';

const [path, rows, columns] = process.argv.slice(2);
const shape = [Number(rows), Number(columns)];
writeSafetensors(path, {
  w: { dtype: 'F32', shape, data: new Float32Array(shape[0] * shape[1]) },
}, { weights: 'zero' });
