// Marching squares: the lines on which the log density of a landscape has a level, each as a list of places.

function contourOf({ values, side, low, high }, level) {
  const value = (i, j) => values[i * side + j] - level;
  const place = (i, j) => [low[0] + ((high[0] - low[0]) * i) / (side - 1), low[1] + ((high[1] - low[1]) * j) / (side - 1)];
  // Crossings by the edge of the grid that they are on, and for each the one or two that it is joined to.
  const places = new Map();
  const joined = new Map();
  for (let i = 0; i + 1 < side; i++) {
    for (let j = 0; j + 1 < side; j++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const edges = [];
      for (let k = 0; k < 4; k++) {
        const [a, b] = [corners[k], corners[(k + 1) % 4]];
        const [f, g] = [value(...a), value(...b)];
        if (f >= 0 === g >= 0) continue;
        const [from, to] = [a, b].map(([r, c]) => r * side + c);
        const edge = 2 * Math.min(from, to) + Number(Math.abs(from - to) === 1);
        const share = f / (f - g);
        places.set(edge, place(a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])));
        edges.push(edge);
      }
      for (let k = 0; k + 1 < edges.length; k += 2) {
        for (const [one, other] of [[edges[k], edges[k + 1]], [edges[k + 1], edges[k]]]) {
          if (!joined.has(one)) joined.set(one, []);
          joined.get(one).push(other);
        }
      }
    }
  }
  const lines = [];
  const seen = new Set();
  const follow = (start) => {
    const line = [];
    let at = start;
    while (at !== undefined) {
      seen.add(at);
      line.push(places.get(at));
      at = joined.get(at).find((next) => !seen.has(next));
    }
    if (line.length > 2 && joined.get(start).length > 1) line.push(line[0]);
    return line;
  };
  // Lines that end at the grid's edge first, then closed ones.
  for (const wanted of [1, 2]) {
    for (const [edge, others] of joined) if (!seen.has(edge) && others.length === wanted) lines.push(follow(edge));
  }
  return lines;
}
