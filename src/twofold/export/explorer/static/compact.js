// Numbers and rows as short text for links. Whoever reads such text did not write it: wrong text gives null, never an error.

const LARGEST_VARINT = 2 ** 31;

// Whole numbers from 0, in base64 for addresses: seven bits a byte, the highest bit says that more follow.
function packedNumbers(numbers) {
  let bytes = "";
  for (let number of numbers) {
    for (; number > 127; number = Math.floor(number / 128)) bytes += String.fromCharCode((number % 128) + 128);
    bytes += String.fromCharCode(number);
  }
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function unpackedNumbers(text) {
  if (!/^[\w-]*$/.test(text) || text.length % 4 === 1) return null;
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const numbers = [];
  for (let at = 0, number = 0, unit = 1; at < bytes.length; at++) {
    const byte = bytes.charCodeAt(at);
    number += (byte % 128) * unit;
    if (number >= LARGEST_VARINT) return null;
    if (byte > 127) {
      unit *= 128;
      if (at + 1 === bytes.length) return null;
    } else {
      numbers.push(number);
      [number, unit] = [0, 1];
    }
  }
  return numbers;
}

// Rows in rising order, as runs: rows left out, rows in, and so on; or, after a point, as bits if that is shorter.
function packedRows(rows) {
  const runs = [];
  let next = 0;
  for (let k = 0; k < rows.length; ) {
    let end = k + 1;
    while (end < rows.length && rows[end] === rows[end - 1] + 1) end++;
    runs.push(rows[k] - next, end - k);
    next = rows[end - 1] + 1;
    k = end;
  }
  const text = packedNumbers(runs);
  return (next / 7) * (4 / 3) < text.length ? `.${packedNumbers(bitsOf(rows, next))}` : text;
}

// Seven rows in each number.
function bitsOf(rows, end) {
  const sevens = new Uint8Array(Math.ceil(end / 7));
  for (const row of rows) sevens[Math.floor(row / 7)] |= 1 << row % 7;
  return sevens;
}

function unpackedRows(text, n) {
  if (text.startsWith(".")) return rowsOfBits(unpackedNumbers(text.slice(1)), n);
  const runs = unpackedNumbers(text);
  if (!runs || runs.length % 2) return null;
  const rows = [];
  let next = 0;
  for (let k = 0; k < runs.length; k += 2) {
    next += runs[k];
    if (next + runs[k + 1] > n) return null;
    for (let end = next + runs[k + 1]; next < end; next++) rows.push(next);
  }
  return rows;
}

function rowsOfBits(sevens, n) {
  if (!sevens || sevens.some((seven) => seven > 127)) return null;
  const rows = [];
  sevens.forEach((seven, k) => {
    for (let bit = 0; bit < 7; bit++) if (seven & (1 << bit)) rows.push(7 * k + bit);
  });
  return rows.some((row) => row >= n) ? null : rows;
}

// Latents as steps on a grid of so many lines over the map; steps are small numbers.
const GRID = 8192;

function packedPath(corners, low, high) {
  const before = new Array(low.length).fill(0);
  return packedNumbers(
    corners.flatMap((corner) =>
      Array.from(corner, (value, l) => {
        const place = Math.round(((value - low[l]) / (high[l] - low[l])) * GRID);
        const step = place - before[l];
        before[l] = place;
        return step < 0 ? -2 * step - 1 : 2 * step;
      }),
    ),
  );
}

function unpackedPath(text, low, high, most) {
  const numbers = unpackedNumbers(text);
  const q = low.length;
  if (!numbers || !numbers.length || numbers.length % q || numbers.length > most * q) return null;
  const place = new Array(q).fill(0);
  const corners = [];
  for (let at = 0; at < numbers.length; at += q) {
    for (let l = 0; l < q; l++) place[l] += numbers[at + l] % 2 ? -(numbers[at + l] + 1) / 2 : numbers[at + l] / 2;
    // Far away there is nothing to see.
    if (place.some((one) => Math.abs(one) > 100 * GRID)) return null;
    corners.push(Float64Array.from(place, (one, l) => low[l] + (one / GRID) * (high[l] - low[l])));
  }
  return corners;
}

function packedNumber(value) {
  return String(Number(value.toPrecision(9))).replace("e+", "e");
}

// A finite number, or null.
function unpackedNumber(text) {
  if (!/^-?\d{1,25}(\.\d{1,25})?(e-?\d{1,3})?$/.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

// All parts of a text, or null if one of them is wrong.
function unpackedAll(text, mark, unpack) {
  const found = text.split(mark).map(unpack);
  return found.includes(null) ? null : found;
}
