// Packed arrays: base64, deflated, bytes of equal significance together. See _packing.py.

const byId = (id) => document.getElementById(id);

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, float32: Float32Array, float64: Float64Array };

const promised = new Map();

// The bytes of a block of the page; arrays that share one wait for the same promise.
function bytesOf(number) {
  if (!promised.has(number)) promised.set(number, inflated(byId(`array-${number}`)));
  return promised.get(number);
}

async function inflated(block) {
  const text = atob(block.textContent);
  block.remove();
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const parts = [];
  let length = 0;
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    length += part.value.length;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// An array as {codes, step, offset, shape}: its numbers are offset + step * codes, where columns may have their own of both.
async function unpacked(packed) {
  const planes = await bytesOf(packed.array);
  const Type = TYPES[packed.type];
  const size = Type.BYTES_PER_ELEMENT;
  const count = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < size; plane++) {
    const start = plane * count;
    for (let i = 0; i < count; i++) bytes[i * size + plane] = planes[start + i];
  }
  return { codes: new Type(bytes.buffer), step: packed.step, offset: packed.offset, shape: packed.shape };
}

// The same as plain numbers.
function numbersOf(array) {
  if (array.step === 1 && array.offset === 0 && array.codes instanceof Float64Array) return array.codes;
  const numbers = new Float64Array(array.codes.length);
  const [step, offset] = [columnsOf(array.step, array), columnsOf(array.offset, array)];
  const d = step.length;
  for (let i = 0, l = 0; i < numbers.length; i++, l = l + 1 === d ? 0 : l + 1) numbers[i] = offset[l] + step[l] * array.codes[i];
  return numbers;
}

// One value for each column of an array, whether it has one for all or one for each.
function columnsOf(values, array) {
  return Array.isArray(values) ? values : new Array(array.shape[array.shape.length - 1] || 1).fill(values);
}

// Replace every packed array inside plain data by its unpacked form.
async function withArrays(value) {
  if (Array.isArray(value)) return Promise.all(value.map(withArrays));
  if (value === null || typeof value !== "object") return value;
  if ("array" in value && "shape" in value) return unpacked(value);
  const entries = await Promise.all(Object.entries(value).map(async ([key, part]) => [key, await withArrays(part)]));
  return Object.fromEntries(entries);
}
