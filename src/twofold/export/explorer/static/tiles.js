// Images decoded all over the map, faded where no data support them: Meinicke et al. (2005), Fig. 4c, for whatever part is in view.

// Milliseconds.
const STILLNESS = 120;

class Tiles {
  constructor(explorer) {
    this.explorer = explorer;
    this.isOn = false;
    this.count = 0;
    this.side = Math.min(48, Math.max(24, 2 * (explorer.content.appearance.width ?? 0)));
  }

  toggle(isOn) {
    this.isOn = isOn;
    this.picture = null;
    this.count = 0;
    clearTimeout(this.timer);
    if (isOn) this.decodeSoon();
  }

  // Decode when the map has been still for a moment: it takes longer than a frame.
  decodeSoon() {
    if (!this.isOn) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.decodeAll();
      this.explorer.draw();
    }, STILLNESS);
  }

  decodeAll() {
    const { camera, landscape, content, decode } = this.explorer;
    const { width, height, low, high, channels } = content.appearance;
    const { side } = this;
    const columns = Math.ceil(camera.width / side);
    const lines = Math.ceil(camera.height / side);
    // A pixel between images keeps neighbors apart.
    const picture = document.createElement("canvas");
    picture.width = columns * (width + 1);
    picture.height = lines * (height + 1);
    const context = picture.getContext("2d");
    const tile = context.createImageData(width, height);
    this.count = 0;
    for (let line = 0; line < lines; line++) {
      for (let column = 0; column < columns; column++) {
        const z = camera.screenToLatent((column + 0.5) * side, (line + 0.5) * side);
        const support = landscape.values ? Math.exp(Math.min(0, landscape.at(z) - landscape.usual)) : 1;
        if (support < 0.02) continue;
        const x = decode(z);
        this.count++;
        for (let i = 0, at = 0; at < tile.data.length; i++, at += 4) {
          for (let c = 0; c < 3; c++) tile.data[at + c] = ((x[channels === 3 ? 3 * i + c : i] - low) * 255) / (high - low || 1);
          tile.data[at + 3] = 255 * support;
        }
        context.putImageData(tile, column * (width + 1), line * (height + 1));
      }
    }
    this.picture = picture;
    this.corner = [camera.u, camera.v];
    this.scale = camera.scale;
    this.size = [columns * side, lines * side];
    this.view = [camera.width, camera.height];
  }

  // Draw the last picture where its part of the map is now.
  draw(context, camera) {
    if (!this.isOn || !this.picture) return;
    const factor = camera.scale / this.scale;
    const [x, y] = camera.toScreen(...this.corner);
    context.imageSmoothingEnabled = false;
    const [left, top] = [x - 0.5 * this.view[0] * factor, y - 0.5 * this.view[1] * factor];
    context.drawImage(this.picture, left, top, this.size[0] * factor, this.size[1] * factor);
    if (factor !== 1 || Math.hypot(x - 0.5 * camera.width, y - 0.5 * camera.height) > 0.5) this.decodeSoon();
  }
}
