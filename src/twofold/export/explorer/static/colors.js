// Colors that stay apart for color-blind readers (Paul Tol's muted scheme, in the order of twofold.plotting), and a ramp for numbers.

const CLASS_COLORS = {
  light: ["#CC6677", "#332288", "#DDCC77", "#117733", "#88CCEE", "#882255", "#44AA99", "#999933", "#AA4499", "#111111"],
  dark: ["#E58A99", "#9A86F0", "#EBDD8F", "#4DBB6E", "#88CCEE", "#C75C92", "#5CC9B8", "#BDBD55", "#D978CB", "#EEEEEE"],
};
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const MISSING = "missing";
const MOST_HUES = 10;
const OTHERS = { light: [140, 144, 152], dark: [128, 132, 140] };
const SPOT = { light: [209, 73, 91], dark: [255, 138, 154] };
const PAPER = { light: [255, 255, 255], dark: [20, 22, 26] };
const GAP = { light: [190, 190, 190], dark: [90, 90, 90] };

// The color of the class of a rank. Ten hues can be told apart; beyond, classes are gray, and the legend shows where one is.
function classColor(rank, theme) {
  const scheme = CLASS_COLORS[theme];
  return rank < MOST_HUES ? hexToRgb(scheme[rank]) : OTHERS[theme];
}

function colorOfClass(column, code, theme) {
  return classColor(column.rank[code], theme);
}

function rampColor(share) {
  const at = Math.min(1, Math.max(0, share)) * (RAMP.length - 1);
  const below = Math.min(RAMP.length - 2, Math.floor(at));
  return RAMP[below].map((low, channel) => Math.round(low + (at - below) * (RAMP[below + 1][channel] - low)));
}

function hexToRgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function cssColor(rgb, alpha = 1) {
  return `rgba(${rgb[0]}, ${rgb[1]}, ${rgb[2]}, ${alpha})`;
}

// A column ready for drawing: the values between which the ramp runs. Of many rows the outermost hundredth does not count.
function preparedColumn(column) {
  const values = numbersOf(column.values);
  const gaps = column.gaps ? numbersOf(column.gaps) : null;
  if (column.kind === "class") return { ...column, values, hasGaps: values.includes(0), shown: new Set(column.names.map((_, k) => k)), ...ranksOf(column, values) };
  if (column.table) return withLevels(column, values, gaps);
  const sorted = values.filter((_, i) => !gaps || !gaps[i]).sort();
  const cut = Math.floor(sorted.length / 100);
  const low = sorted.length ? sorted[cut] : 0;
  const high = sorted.length ? sorted[sorted.length - 1 - cut] : 1;
  return { ...column, values, gaps, hasGaps: !!gaps && gaps.includes(1), low, high };
}

// The same for numbers of very many rows, which are codes of levels.
function withLevels(column, codes, gaps) {
  const { table } = column;
  const counts = new Float64Array(table.length);
  let [n, hasGaps] = [0, false];
  for (let i = 0; i < codes.length; i++) {
    if (gaps && gaps[i]) hasGaps = true;
    else {
      counts[codes[i]]++;
      n++;
    }
  }
  const cut = Math.floor(n / 100);
  const levelAt = (rank) => {
    let level = 0;
    for (let below = counts[0]; below <= rank && level < table.length - 1; below += counts[level]) level++;
    return table[level];
  };
  const values = new Float64Array(codes.length);
  for (let i = 0; i < values.length; i++) values[i] = table[codes[i]];
  return { ...column, values, gaps, hasGaps, low: levelAt(cut), high: levelAt(Math.max(0, n - 1 - cut)) };
}

// Classes by their number of rows, and in the order of the colors: that of their names, or if there are too many for it by number of rows.
function ranksOf(column, values) {
  const counts = new Float64Array(column.names.length);
  for (let i = 0; i < values.length; i++) if (values[i] > 0) counts[values[i] - 1]++;
  const codes = column.names.map((_, code) => code);
  const byCount = codes.slice().sort((a, b) => counts[b] - counts[a] || a - b);
  const byRank = codes.length > MOST_HUES ? byCount : codes;
  const rank = new Uint32Array(codes.length);
  byRank.forEach((code, place) => (rank[code] = place));
  return { byCount, byRank, rank };
}

// Rows have one byte each, the code of a color: 0 for gaps, then ranks of classes or steps of the ramp. The palette has the color of each code as
// a 32-bit pixel; 0 stands for rows that are not drawn.
const HIDDEN = 255;
const LAST_CODE = 254;

function codeOfClass(column, code) {
  return Math.min(LAST_CODE, column.rank[code] + 1);
}

function codesOf(column, n) {
  const codes = new Uint8Array(n);
  const { values, gaps, low, high } = column;
  if (column.kind === "class") {
    for (let i = 0; i < n; i++) codes[i] = values[i] > 0 ? Math.min(LAST_CODE, column.rank[values[i] - 1] + 1) : 0;
    return codes;
  }
  const steps = (LAST_CODE - 1) / (high - low || 1);
  for (let i = 0; i < n; i++) {
    if (!gaps || !gaps[i]) codes[i] = 1 + Math.min(LAST_CODE - 1, Math.max(0, Math.round((values[i] - low) * steps)));
  }
  return codes;
}

// With a spotlight, the code that stands out, all others fade.
function paletteOf(column, theme, spotlight = -1) {
  const palette = new Uint32Array(256);
  const fade = (rgb) => (spotlight < 0 ? rgb : rgb.map((value, c) => 0.15 * value + 0.85 * PAPER[theme][c]));
  palette[0] = pixelOf(fade(GAP[theme]));
  if (column.kind === "class") {
    const last = Math.min(LAST_CODE, column.names.length);
    for (let code = 1; code <= last; code++) {
      // The last code may stand for many classes.
      if (!column.shown.has(column.byRank[code - 1])) continue;
      if (code === spotlight) palette[code] = pixelOf(code <= MOST_HUES ? classColor(code - 1, theme) : SPOT[theme]);
      else palette[code] = pixelOf(fade(classColor(code - 1, theme)));
    }
  } else {
    for (let code = 1; code <= LAST_CODE; code++) palette[code] = pixelOf(rampColor((code - 1) / (LAST_CODE - 1)));
  }
  palette[HIDDEN] = 0;
  return palette;
}

function pixelOf(rgb) {
  return ((255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
}

function rgbOf(pixel) {
  return [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
}

function rowText(column, row) {
  if (column.kind === "class") return column.values[row] > 0 ? column.names[column.values[row] - 1] : MISSING;
  return column.gaps && column.gaps[row] ? MISSING : numberText(column, column.values[row]);
}

function numberText(column, value) {
  return column.text ? column.text(value) : shortNumber(value);
}
