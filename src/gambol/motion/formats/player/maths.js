// Vectors are arrays [x, y, z], quaternions [w, x, y, z] as in MuJoCo, matrices column-major arrays for WebGL.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scaled(a, 1 / Math.max(norm(a), 1e-12));
const mixed = (a, b, s) => a.map((value, k) => value + (b[k] - value) * s);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function multiplied(a, b) {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

function rotated(q, v) {
  const axis = [q[1], q[2], q[3]];
  const twice = scaled(cross(axis, v), 2);
  return add(add(v, scaled(twice, q[0])), cross(axis, twice));
}

// The rotation a fraction of the way along the shorter arc.
function slerp(a, b, fraction) {
  let cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  const sign = cosine < 0 ? -1 : 1;
  cosine *= sign;
  let from = 1 - fraction, to = fraction;
  if (cosine < 0.9995) {
    const angle = Math.acos(cosine), sine = Math.sin(angle);
    from = Math.sin(from * angle) / sine;
    to = Math.sin(to * angle) / sine;
  }
  const q = a.map((value, k) => from * value + sign * to * b[k]);
  const length = Math.hypot(...q);
  return q.map((value) => value / length);
}

// The quaternion that turns the z axis to a direction.
function turningZTo(direction) {
  const d = unit(direction);
  if (d[2] < -0.999999) return [0, 1, 0, 0];
  const q = [1 + d[2], -d[1], d[0], 0];
  const length = Math.hypot(...q);
  return q.map((value) => value / length);
}

function rotationMatrix(q) {
  const x = rotated(q, [1, 0, 0]), y = rotated(q, [0, 1, 0]), z = rotated(q, [0, 0, 1]);
  return [...x, ...y, ...z];
}

function matrixProduct(a, b) {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++)
      for (let k = 0; k < 4; k++) out[column * 4 + row] += a[k * 4 + row] * b[column * 4 + k];
  return out;
}

// World to eye, for an eye with these unit axes; it looks along `forward`.
function viewMatrix(eye, right, up, forward) {
  return [
    right[0], up[0], -forward[0], 0,
    right[1], up[1], -forward[1], 0,
    right[2], up[2], -forward[2], 0,
    -dot(right, eye), -dot(up, eye), dot(forward, eye), 1,
  ];
}

function perspective(fieldOfView, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfView / 2), depth = 1 / (near - far);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * depth, -1, 0, 0, 2 * far * near * depth, 0];
}

function orthographic(radius, depth) {
  return [1 / radius, 0, 0, 0, 0, 1 / radius, 0, 0, 0, 0, -1 / depth, 0, 0, 0, 0, 1];
}

// The camera's right, up and forward; azimuth 0 looks along x, a negative elevation looks down.
function cameraAxes(azimuth, elevation) {
  const flat = [Math.cos(azimuth), Math.sin(azimuth), 0];
  const forward = [flat[0] * Math.cos(elevation), flat[1] * Math.cos(elevation), Math.sin(elevation)];
  const right = [flat[1], -flat[0], 0];
  return { right, up: cross(right, forward), forward };
}

// The nearest camera with this direction that sees all spheres {centre, radius} inside the insets, which are fractions
// of half the picture left free at each side; see `fitted` in drawing.py.
function fittedCamera(spheres, azimuth, elevation, fieldOfView, aspect, inset) {
  const { right, up, forward } = cameraAxes(azimuth, elevation), half = Math.tan(fieldOfView / 2);
  const slopes = {
    right: half * aspect * (1 - inset.right), left: half * aspect * (1 - inset.left),
    top: half * (1 - inset.top), bottom: half * (1 - inset.bottom),
  };
  const depths = spheres.map(({ centre }) => dot(forward, centre));
  // How far outside the plane through the origin with this slope the outermost sphere reaches.
  const beyond = (across, slope) => spheres.reduce((most, { centre, radius }, k) =>
    Math.max(most, dot(across, centre) - slope * depths[k] + radius * Math.hypot(1, slope)), -Infinity);
  const pairs = [[right, slopes.right, slopes.left], [up, slopes.top, slopes.bottom]].map(([across, high, low]) =>
    ({ high, low, above: beyond(across, high), below: beyond(scaled(across, -1), low) }));
  const back = Math.min(...pairs.map(({ high, low, above, below }) => -(above + below) / (high + low)));
  const [x, y] = pairs.map(({ high, low, above, below }) => (above + high * back - below - low * back) / 2);
  const near = depths.reduce((a, b) => Math.min(a, b)), far = depths.reduce((a, b) => Math.max(a, b));
  const distance = Math.max((near + far) / 2 - back, 0.5);
  const target = add(add(scaled(right, x), scaled(up, y)), scaled(forward, back + distance));
  return { target, distance, azimuth, elevation };
}
