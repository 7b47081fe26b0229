// Rows by WebGL2: one point each, with its place and the code of its color, which a palette of 256 texels translates. The picture is made on a
// canvas of its own, which lies on the map's: to copy it would make the graphics processor wait. Only saved views copy it.

const VERTEX_SHADER = `#version 300 es
in vec2 place;
in float code;
uniform vec4 view;
uniform float size;
uniform int only;
uniform sampler2D palette;
flat out vec4 color;
void main() {
  int at = int(code + 0.5);
  color = texelFetch(palette, ivec2(at, 0), 0);
  bool isDrawn = color.a > 0.0 && (only < 0 || only == at);
  gl_Position = isDrawn ? vec4(place * view.xy + view.zw, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size;
}`;

// Points of two pixels or less are squares; larger ones are discs with soft edges.
const FRAGMENT_SHADER = `#version 300 es
precision highp float;
flat in vec4 color;
uniform float size;
out vec4 drawn;
void main() {
  float inside = size <= 2.0 ? 1.0 : clamp(0.5 * size + 0.5 - size * length(gl_PointCoord - 0.5), 0.0, 1.0);
  drawn = vec4(color.rgb * inside, inside);
}`;

// While the map turns, this many rows are drawn; all of them once it is still.
const MOST_TURNING = 100_000;
// Milliseconds.
const TURNED = 150;

class WebGLPainter {
  // A painter, or null where the browser has no WebGL2.
  static make(points) {
    const canvas = document.createElement("canvas");
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false, stencil: false });
    if (!gl || isSoftware(gl)) return null;
    const painter = new WebGLPainter(points, canvas, gl);
    if (!painter.isReady) return null;
    canvas.id = "rows-layer";
    byId("ground").after(canvas);
    return painter;
  }

  constructor(points, canvas, gl) {
    this.points = points;
    this.name = "webgl";
    this.canvas = canvas;
    this.gl = gl;
    this.isReady = this.prepare();
    // The browser may take the context away, for instance when the graphics driver restarts.
    canvas.addEventListener("webglcontextlost", () => {
      points.usePainter(new CanvasPainter(points));
      points.redraw?.();
    });
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return false;
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(["view", "size", "only"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.inputs = Object.fromEntries(["place", "code"].map((name) => [name, gl.getAttribLocation(program, name)]));
    this.buffers = { place: gl.createBuffer(), code: gl.createBuffer() };
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.disable(gl.DITHER);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    return true;
  }

  // Places in the order of the grid's cells, so that rows in view are few ranges; in their own order where the map turns.
  upload() {
    const { gl, points } = this;
    if (this.projection !== points.projection) {
      const { u, height, n } = points;
      this.order = points.q > 2 ? null : points.grid.rows;
      this.middle = [u, height].map((values) => (n ? values[n >> 1] : 0));
      const places = new Float32Array(2 * n);
      for (let k = 0; k < n; k++) {
        const i = this.order ? this.order[k] : k;
        places[2 * k] = u[i] - this.middle[0];
        places[2 * k + 1] = height[i] - this.middle[1];
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.place);
      gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
      this.projection = points.projection;
    }
    if (this.coloring !== points.coloring) {
      const { codes, colors, n } = points;
      const ordered = new Uint8Array(n);
      for (let k = 0; k < n; k++) {
        const i = this.order ? this.order[k] : k;
        ordered[k] = colors[i] ? codes[i] : HIDDEN;
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.code);
      gl.bufferData(gl.ARRAY_BUFFER, ordered, gl.STATIC_DRAW);
      const texels = new Uint8Array(points.palette.slice().buffer);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
      this.coloring = points.coloring;
    }
  }

  // Read every so-manieth row.
  read(every) {
    const { gl } = this;
    for (const [name, count, type, bytes] of [["place", 2, gl.FLOAT, 8], ["code", 1, gl.UNSIGNED_BYTE, 1]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      gl.enableVertexAttribArray(this.inputs[name]);
      gl.vertexAttribPointer(this.inputs[name], count, type, false, every * bytes, 0);
    }
  }

  draw(context, camera, ratio, radius) {
    const { gl, canvas, points } = this;
    const width = Math.max(1, Math.round(camera.width * ratio));
    const height = Math.max(1, Math.round(camera.height * ratio));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const isTurning = points.q > 2 && this.projection !== undefined && this.projection !== points.projection;
    this.upload();
    const every = isTurning ? Math.max(1, Math.ceil(points.n / MOST_TURNING)) : 1;
    this.read(every);
    if (every > 1) this.drawAllSoon();
    const { x0, sx, y0, sy } = points.axes(camera);
    const size = Math.max(1, 2 * radius * ratio);
    gl.viewport(0, 0, width, height);
    gl.uniform4f(
      this.uniforms.view,
      (2 * sx) / camera.width,
      (-2 * sy) / camera.height,
      (2 * (x0 + sx * this.middle[0])) / camera.width - 1,
      1 - (2 * (y0 + sy * this.middle[1])) / camera.height,
    );
    gl.uniform1f(this.uniforms.size, size);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl[size > 2 ? "enable" : "disable"](gl.BLEND);
    for (const only of points.spotlight < 0 ? [-1] : [-1, points.spotlight]) {
      gl.uniform1i(this.uniforms.only, only);
      for (const [from, to] of this.ranges(camera, radius, every)) gl.drawArrays(gl.POINTS, from, to - from);
    }
    canvas.hidden = false;
    if (context.canvas.id === "ground") return;
    context.drawImage(canvas, 0, 0, camera.width, camera.height);
    this.points.redraw?.();
  }

  hide() {
    this.canvas.hidden = true;
  }

  // Ranges of rows to draw.
  ranges(camera, radius, every) {
    return (every === 1 && rangesInView(this.points, camera, radius)) || [[0, Math.ceil(this.points.n / every)]];
  }

  drawAllSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.points.redraw?.(), TURNED);
  }
}

// Whether the processor does the work of missing graphics hardware: then the canvas is faster.
function isSoftware(gl) {
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
