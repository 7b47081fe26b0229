// Colors that stay apart for color-blind readers (Paul Tol's muted scheme, in the order of twofold.plotting), and a ramp for numbers.

const CLASS_COLORS = {
  light: ["#CC6677", "#332288", "#DDCC77", "#117733", "#88CCEE", "#882255", "#44AA99", "#999933", "#AA4499", "#111111"],
  dark: ["#E58A99", "#9A86F0", "#EBDD8F", "#4DBB6E", "#88CCEE", "#C75C92", "#5CC9B8", "#BDBD55", "#D978CB", "#EEEEEE"],
};
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const MISSING = "missing";
const GAP = { light: [190, 190, 190], dark: [90, 90, 90] };

function classColor(number, theme) {
  const scheme = CLASS_COLORS[theme];
  if (number < scheme.length) return hexToRgb(scheme[number]);
  // Beyond ten: hues a golden angle apart.
  return hslToRgb((number * 137.508) % 360, 0.55, theme === "dark" ? 0.65 : 0.42);
}

function rampColor(share) {
  const at = Math.min(1, Math.max(0, share)) * (RAMP.length - 1);
  const below = Math.min(RAMP.length - 2, Math.floor(at));
  return RAMP[below].map((low, channel) => Math.round(low + (at - below) * (RAMP[below + 1][channel] - low)));
}

function hexToRgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function hslToRgb(hue, saturation, lightness) {
  const a = saturation * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}

function cssColor(rgb, alpha = 1) {
  return `rgba(${rgb[0]}, ${rgb[1]}, ${rgb[2]}, ${alpha})`;
}

// A column ready for drawing: the values between which the ramp runs. Of many rows the outermost hundredth does not count.
function preparedColumn(column) {
  const values = numbersOf(column.values);
  const gaps = column.gaps ? numbersOf(column.gaps) : null;
  if (column.kind === "class") return { ...column, values, hasGaps: values.includes(0), shown: new Set(column.names.map((_, k) => k)) };
  const sorted = values.filter((_, i) => !gaps || !gaps[i]).sort();
  const cut = Math.floor(sorted.length / 100);
  const low = sorted.length ? sorted[cut] : 0;
  const high = sorted.length ? sorted[sorted.length - 1 - cut] : 1;
  return { ...column, values, gaps, hasGaps: !!gaps && gaps.includes(1), low, high };
}

// The color of a row as [r, g, b], or null where its class is switched off.
function rowColor(column, row, theme) {
  if (column.kind === "class") {
    const code = column.values[row] - 1;
    if (code < 0) return GAP[theme];
    return column.shown.has(code) ? classColor(code, theme) : null;
  }
  if (column.gaps && column.gaps[row]) return GAP[theme];
  return rampColor((column.values[row] - column.low) / (column.high - column.low || 1));
}

function rowText(column, row) {
  if (column.kind === "class") return column.values[row] > 0 ? column.names[column.values[row] - 1] : MISSING;
  return column.gaps && column.gaps[row] ? MISSING : numberText(column, column.values[row]);
}

function numberText(column, value) {
  return column.text ? column.text(value) : shortNumber(value);
}
