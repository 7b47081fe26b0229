// A path drawn on the map, and the walk along it.

const WALK_SECONDS = 6;

class Path {
  constructor(show) {
    this.show = show;
    this.corners = [];
    this.share = 0;
    this.isPlaying = false;
  }

  begin(z) {
    this.clear();
    this.corners = [Float64Array.from(z)];
  }

  extend(z) {
    this.corners.push(Float64Array.from(z));
  }

  // Measure the path and start to walk; a path without length is forgotten.
  end() {
    this.lengths = [0];
    for (let k = 1; k < this.corners.length; k++) {
      const step = Math.sqrt(this.corners[k].reduce((sum, c, l) => sum + (c - this.corners[k - 1][l]) ** 2, 0));
      this.lengths.push(this.lengths[k - 1] + step);
    }
    if (!(this.lengths[this.lengths.length - 1] > 0)) {
      this.clear();
      return false;
    }
    this.play();
    return true;
  }

  // The latent at a share of the path's length.
  at(share) {
    const length = share * this.lengths[this.lengths.length - 1];
    let k = 1;
    while (k < this.lengths.length - 1 && this.lengths[k] < length) k++;
    const rest = (length - this.lengths[k - 1]) / (this.lengths[k] - this.lengths[k - 1] || 1);
    return this.corners[k].map((c, l) => this.corners[k - 1][l] + rest * (c - this.corners[k - 1][l]));
  }

  play() {
    this.isPlaying = true;
    let before = null;
    const step = (now) => {
      if (!this.isPlaying) return;
      if (before !== null) this.go((this.share + (now - before) / 1000 / WALK_SECONDS) % 1);
      before = now;
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  pause() {
    this.isPlaying = false;
    cancelAnimationFrame(this.frame);
  }

  go(share) {
    this.share = Math.min(1, Math.max(0, share));
    this.show(this.at(this.share), this.share);
  }

  clear() {
    this.pause();
    this.corners = [];
    this.share = 0;
  }

  get isThere() {
    return this.corners.length > 1 && !!this.lengths;
  }

  draw(context, camera, color) {
    if (!this.corners.length) return;
    context.strokeStyle = color;
    context.lineWidth = 2.5;
    context.lineJoin = "round";
    context.beginPath();
    for (const z of this.corners) context.lineTo(...camera.latentToScreen(z));
    context.stroke();
  }
}
