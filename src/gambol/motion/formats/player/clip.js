// A motion: its bodies' frames, and the items the renderer draws of them at a time.

const GHOST_EVERY = 0.5; // seconds
const CONTACT_COLOUR = [0.93, 0.33, 0.22, 1];
const STILL = { position: [0, 0, 0], quat: [1, 0, 0, 0] };

class Clip {
  constructor(data, renderer) {
    this.frames = data.frames;
    this.dt = data.dt;
    this.duration = (data.frames - 1) * data.dt;
    this.subject = data.subject;
    this.nearby = data.camera.nearby;
    this.positions = unpacked(data.positions);
    this.quats = unpacked(data.quats);
    this.bodies = this.positions.length / (3 * this.frames);
    const meshes = data.shapes.map((shape) => SHAPES[shape.kind] && renderer.upload(SHAPES[shape.kind](shape)));
    this.geoms = data.geoms.map((geom) => ({
      ...geom, ...data.shapes[geom.shape], mesh: meshes[geom.shape], still: geom.body < 0,
    }));
    this.stillItems = this.geoms.filter((geom) => geom.still).map((geom) => ({
      mesh: geom.mesh, position: geom.position, rotation: rotationMatrix(geom.quat), colour: geom.colour, still: true,
      lines: geom.kind === "terrain",
    }));
    this.movingGeoms = this.geoms.filter((geom) => !geom.still);
    this.track = this.subject === null ? null : this.smoothTrack(0.4);
    this.contacts = data.contacts && {
      starts: unpacked(data.contacts.starts),
      positions: unpacked(data.contacts.positions),
      forces: unpacked(data.contacts.forces),
    };
    this.shaft = renderer.upload(cylinder(1, 0.5));
    this.head = renderer.upload(cone(1, 1));
    this.dot = renderer.upload(capsule(1, 0));
    this.newtons = this.contacts ? this.largeForce() : 1;
  }

  body(frame, k) {
    const p = 3 * (frame * this.bodies + k), q = 4 * (frame * this.bodies + k);
    return { position: Array.from(this.positions.subarray(p, p + 3)), quat: Array.from(this.quats.subarray(q, q + 4)) };
  }

  // Every body's frame at a time, between two stored ones.
  pose(time) {
    const at = clamp(time / this.dt, 0, this.frames - 1), frame = Math.floor(at), fraction = at - frame;
    const next = Math.min(frame + 1, this.frames - 1);
    return Array.from({ length: this.bodies }, (_, k) => {
      const a = this.body(frame, k), b = this.body(next, k);
      return { position: mixed(a.position, b.position, fraction), quat: slerp(a.quat, b.quat, fraction) };
    });
  }

  items(pose, colour = (geom) => geom.colour, geoms = this.movingGeoms) {
    return geoms.map((geom) => {
      const body = geom.still ? STILL : pose[geom.body], quat = multiplied(body.quat, geom.quat);
      const position = add(body.position, rotated(body.quat, geom.position));
      return { mesh: geom.mesh, position, quat, rotation: rotationMatrix(quat), colour: colour(geom) };
    });
  }

  // The moving geoms as capsules along their longest axes: what darkens the ground near them.
  occluders(items) {
    return items.flatMap(({ mesh, position, rotation }, k) => {
      if (!mesh) return [];
      const { size } = this.movingGeoms[k], kind = size ? size.filter((s) => s > 0) : [];
      let axis = 2, half = 0, radius = 0.6 * mesh.radius;
      if (kind.length === 2) [radius, half] = kind;
      else if (kind.length === 3) {
        axis = kind.indexOf(Math.max(...kind));
        radius = [...kind].sort((a, b) => a - b)[1];
        half = Math.max(kind[axis] - radius, 0);
      } else if (kind.length === 1) radius = kind[0];
      const along = scaled(rotation.slice(3 * axis, 3 * axis + 3), half);
      return [{ from: subtract(position, along), to: add(position, along), radius }];
    });
  }

  // The followed body's path without its wobble: a mean over `reach` seconds to either side, at each frame.
  smoothTrack(reach) {
    const width = Math.round(reach / this.dt), sums = [[0, 0, 0]];
    for (let frame = 0; frame < this.frames; frame++)
      sums.push(add(sums[frame], this.body(frame, this.subject).position));
    return Array.from({ length: this.frames }, (_, frame) => {
      const side = Math.min(width, frame, this.frames - 1 - frame);
      return scaled(subtract(sums[frame + side + 1], sums[frame - side]), 1 / (2 * side + 1));
    });
  }

  followed(time) {
    const at = clamp(time / this.dt, 0, this.frames - 1), frame = Math.floor(at);
    return mixed(this.track[frame], this.track[Math.min(frame + 1, this.frames - 1)], at - frame);
  }

  // Spheres around what the camera has to hold: the characters as seen by a camera that follows them, or their whole
  // motion and the things near it that can move; see `framed` in drawing.py.
  spheres(following) {
    const people = this.spheresOf("character", following);
    if (following || !people.length) return people;
    const bound = (most) => [0, 1, 2].map((axis) =>
      people.reduce((found, { centre }) => most(found, centre[axis]), people[0].centre[axis]));
    const low = bound(Math.min), high = bound(Math.max);
    const outside = ({ centre }) => norm(centre.map((x, axis) => Math.max(low[axis] - x, x - high[axis], 0)));
    return [...people, ...this.spheresOf("thing", false).filter((sphere) => outside(sphere) <= this.nearby)];
  }

  spheresOf(owner, following) {
    const shown = this.geoms.filter((geom) => geom.of === owner && geom.mesh), out = [];
    const step = Math.max(1, Math.floor(this.frames / 80));
    for (let frame = 0; frame < this.frames; frame += step) {
      const pose = this.pose(frame * this.dt);
      const shift = following ? subtract(this.followed(0), this.followed(frame * this.dt)) : [0, 0, 0];
      for (const item of this.items(pose, undefined, shown))
        out.push({ centre: add(item.position, shift), radius: item.mesh.radius });
    }
    return out;
  }

  ghosts(now) {
    const out = [];
    for (let time = 0; time <= this.duration + 1e-9; time += GHOST_EVERY) {
      const away = Math.abs(time - now);
      if (away < GHOST_EVERY / 4) continue;
      const alpha = 0.12 + 0.3 * Math.exp(-away / 1.5);
      const shown = this.movingGeoms.filter((geom) => geom.of === "character" && geom.mesh);
      out.push(...this.items(this.pose(time), (geom) => [...geom.colour.slice(0, 3), alpha], shown));
    }
    return out;
  }

  largeForce() {
    const sizes = [], { forces } = this.contacts;
    for (let k = 0; k < forces.length; k += 3) sizes.push(Math.hypot(forces[k], forces[k + 1], forces[k + 2]));
    sizes.sort((a, b) => a - b);
    return Math.max(sizes[Math.floor(0.9 * (sizes.length - 1))], 1e-6);
  }

  // Points, and arrows along the forces: 40 cm for one that nine in ten do not exceed.
  contactItems(time) {
    const { starts, positions, forces } = this.contacts, out = [];
    const frame = clamp(Math.round(time / this.dt), 0, this.frames - 1);
    const put = (mesh, position, quat, scale) =>
      out.push({ mesh, position, rotation: rotationMatrix(quat), scale, colour: CONTACT_COLOUR });
    for (let k = starts[frame]; k < starts[frame + 1]; k++) {
      const at = Array.from(positions.subarray(3 * k, 3 * k + 3));
      put(this.dot, at, [1, 0, 0, 0], [0.016, 0.016, 0.016]);
      const force = Array.from(forces.subarray(3 * k, 3 * k + 3));
      const length = Math.min((0.4 * norm(force)) / this.newtons, 1);
      if (length < 0.02) continue;
      const quat = turningZTo(force), along = unit(force), tip = Math.min(0.06, 0.5 * length);
      put(this.shaft, add(at, scaled(along, (length - tip) / 2)), quat, [0.008, 0.008, length - tip]);
      put(this.head, add(at, scaled(along, length - tip)), quat, [0.024, 0.024, tip]);
    }
    return out;
  }
}
