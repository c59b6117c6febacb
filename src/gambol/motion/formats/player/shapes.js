// Triangle meshes {positions, normals, indices, radius} of the shapes MuJoCo knows; all are closed, seen from outside.

const SEGMENTS = 40;

// Numbers as html.py packs them.
function unpacked({ kind, offset, scale, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const stored = new { u16: Uint16Array, u32: Uint32Array, f32: Float32Array }[kind](bytes.buffer);
  const out = new Float64Array(stored.length), width = offset.length;
  for (let k = 0; k < out.length; k++) out[k] = offset[k % width] + scale[k % width] * stored[k];
  return out;
}

function boundingRadius(positions) {
  let square = 0;
  for (let k = 0; k < positions.length; k += 3)
    square = Math.max(square, positions[k] ** 2 + positions[k + 1] ** 2 + positions[k + 2] ** 2);
  return Math.sqrt(square);
}

// A surface of revolution about z: `profile` is a list of [radius, z, normal's radial part, normal's z], from the top.
function revolved(profile) {
  const positions = [], normals = [], indices = [];
  for (const [radius, z, across, along] of profile)
    for (let k = 0; k <= SEGMENTS; k++) {
      const angle = (k / SEGMENTS) * 2 * Math.PI, c = Math.cos(angle), s = Math.sin(angle);
      positions.push(radius * c, radius * s, z);
      normals.push(across * c, across * s, along);
    }
  const ring = SEGMENTS + 1;
  for (let row = 0; row + 1 < profile.length; row++)
    for (let k = 0; k < SEGMENTS; k++) {
      const a = row * ring + k, b = a + ring;
      indices.push(a, b, a + 1, a + 1, b, b + 1);
    }
  return { positions, normals, indices };
}

function capsule(radius, half) {
  const profile = [], steps = SEGMENTS / 2;
  for (let k = 0; k <= steps + 1; k++) {
    const lower = k > steps / 2, angle = ((lower ? k - 1 : k) / steps) * Math.PI;
    const across = Math.sin(angle), along = Math.cos(angle);
    profile.push([radius * across, radius * along + (lower ? -half : half), across, along]);
  }
  return revolved(profile);
}

const cylinder = (radius, half) =>
  revolved([[0, half, 0, 1], [radius, half, 0, 1], [radius, half, 1, 0], [radius, -half, 1, 0],
    [radius, -half, 0, -1], [0, -half, 0, -1]]);

const cone = (radius, height) =>
  revolved([[0, height, 0.9, 0.4], [radius, 0, 0.9, 0.4], [radius, 0, 0, -1], [0, 0, 0, -1]]);

function ellipsoid(size) {
  const ball = capsule(1, 0);
  ball.positions = ball.positions.map((value, k) => value * size[k % 3]);
  for (let k = 0; k < ball.normals.length; k += 3) {
    const n = unit([0, 1, 2].map((axis) => ball.normals[k + axis] / size[axis]));
    ball.normals.splice(k, 3, ...n);
  }
  return ball;
}

// A box whose edges are rounded a little, so that they catch the light: eight corner octants and what joins them.
function box(size) {
  const round = Math.min(0.008, 0.25 * Math.min(...size)), steps = 3;
  const ticks = (half) => {
    const arc = Array.from({ length: steps + 1 }, (_, k) => (k / steps) * (Math.PI / 4));
    const inner = half - round;
    const upper = arc.map((angle) => [inner, Math.tan(angle)]);
    return [...upper.map(([at, lean]) => [-at, -lean]).reverse(), ...upper];
  };
  const positions = [], normals = [], indices = [];
  for (let axis = 0; axis < 3; axis++)
    for (const sign of [1, -1]) {
      const u = (axis + 1) % 3, v = (axis + 2) % 3, first = positions.length / 3;
      const columns = ticks(size[u]), rows = ticks(size[v]);
      for (const [atU, leanU] of columns)
        for (const [atV, leanV] of rows) {
          const n = [0, 0, 0], core = [0, 0, 0];
          n[axis] = sign; n[u] = leanU; n[v] = leanV;
          core[axis] = sign * (size[axis] - round); core[u] = atU; core[v] = atV;
          const normal = unit(n);
          normals.push(...normal);
          positions.push(...add(core, scaled(normal, round)));
        }
      for (let i = 0; i + 1 < columns.length; i++)
        for (let j = 0; j + 1 < rows.length; j++) {
          const a = first + i * rows.length + j, b = a + rows.length;
          indices.push(...(sign > 0 ? [a, b, a + 1, a + 1, b, b + 1] : [a, a + 1, b, b, a + 1, b + 1]));
        }
    }
  return { positions, normals, indices };
}

// Height field: a smooth top, and walls down to the base.
function terrain({ rows, columns, half, base, heights }) {
  const height = unpacked(heights), positions = [], normals = [], indices = [];
  const dx = (2 * half[0]) / (columns - 1), dy = (2 * half[1]) / (rows - 1);
  const at = (row, column) => height[clamp(row, 0, rows - 1) * columns + clamp(column, 0, columns - 1)];
  const place = (row, column) => [column * dx - half[0], row * dy - half[1]];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      positions.push(...place(row, column), at(row, column));
      normals.push(...unit([
        (at(row, column - 1) - at(row, column + 1)) / (2 * dx),
        (at(row - 1, column) - at(row + 1, column)) / (2 * dy),
        1,
      ]));
      if (row + 1 < rows && column + 1 < columns) {
        const a = row * columns + column, b = a + columns;
        indices.push(a, a + 1, b, a + 1, b + 1, b);
      }
    }
  const wall = (cells, normal) =>
    cells.forEach(([row, column], k) => {
      const a = positions.length / 3;
      positions.push(...place(row, column), at(row, column), ...place(row, column), -base);
      normals.push(...normal, ...normal);
      if (k + 1 < cells.length) indices.push(a, a + 1, a + 2, a + 2, a + 1, a + 3);
    });
  const along = Array.from({ length: columns }, (_, k) => k), up = Array.from({ length: rows }, (_, k) => k);
  wall(along.map((k) => [0, k]), [0, -1, 0]);
  wall(along.map((k) => [rows - 1, columns - 1 - k]), [0, 1, 0]);
  wall(up.map((k) => [rows - 1 - k, 0]), [-1, 0, 0]);
  wall(up.map((k) => [k, columns - 1]), [1, 0, 0]);
  return { positions, normals, indices };
}

// A mesh's corners share a normal with the neighbouring faces that meet them at less than 40 degrees.
function mesh({ vertices, faces }) {
  const vertex = unpacked(vertices), corner = unpacked(faces), positions = [], normals = [], indices = [];
  const point = (k) => [vertex[3 * corner[k]], vertex[3 * corner[k] + 1], vertex[3 * corner[k] + 2]];
  const areas = [], around = new Map();
  for (let k = 0; k < corner.length; k += 3) {
    const a = point(k);
    areas.push(cross(subtract(point(k + 1), a), subtract(point(k + 2), a)));
    for (let j = k; j < k + 3; j++) {
      if (!around.has(corner[j])) around.set(corner[j], []);
      around.get(corner[j]).push(k / 3);
    }
  }
  for (let k = 0; k < corner.length; k++) {
    const own = unit(areas[Math.floor(k / 3)]);
    let sum = [0, 0, 0];
    for (const face of around.get(corner[k])) if (dot(unit(areas[face]), own) > 0.766) sum = add(sum, areas[face]);
    positions.push(...point(k));
    normals.push(...(norm(sum) > 0 ? unit(sum) : own));
    indices.push(k);
  }
  return { positions, normals, indices };
}

const SHAPES = {
  box: ({ size }) => box(size),
  sphere: ({ size }) => capsule(size[0], 0),
  capsule: ({ size }) => capsule(size[0], size[1]),
  cylinder: ({ size }) => cylinder(size[0], size[1]),
  ellipsoid: ({ size }) => ellipsoid(size),
  terrain,
  mesh,
};
