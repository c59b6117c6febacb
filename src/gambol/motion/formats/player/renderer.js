// Draws meshes with one sun and its shadow, the light of the sky, and a ground that fades into it.

const SHADOW_SIZE = 2048;
const MAX_OCCLUDERS = 40;
const REACH = 60; // metres to where everything has become sky, at least

const THEMES = {
  light: {
    zenith: [0.62, 0.75, 0.89], horizon: [0.93, 0.95, 0.97], ground: [0.83, 0.85, 0.87], grid: [0.58, 0.62, 0.67],
    sunLight: [1.30, 1.22, 1.10], skyLight: [0.48, 0.53, 0.60], groundLight: [0.32, 0.31, 0.29],
  },
  dark: {
    zenith: [0.05, 0.07, 0.11], horizon: [0.15, 0.18, 0.23], ground: [0.25, 0.275, 0.315], grid: [0.38, 0.42, 0.48],
    sunLight: [0.95, 0.93, 0.90], skyLight: [0.30, 0.35, 0.43], groundLight: [0.15, 0.15, 0.17],
  },
};

class Renderer {
  constructor(canvas, sunAzimuth) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("This browser cannot draw with WebGL 2.");
    this.gl = gl;
    this.canvas = canvas;
    this.sun = scaled(cameraAxes(sunAzimuth, -0.85).forward, -1);
    this.surface = this.program(TRANSFORM, SURFACE);
    this.depth = this.program(TRANSFORM, DEPTH_ONLY);
    this.sky = this.program(SKY_CORNERS, SKY);
    this.shadow = this.shadowMap();
    this.plane = this.upload({
      positions: [-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0], normals: [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1],
      indices: [0, 1, 2, 0, 2, 3],
    });
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertexSource, fragmentSource) {
    const { gl } = this, program = gl.createProgram(), uniforms = {};
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexSource], [gl.FRAGMENT_SHADER, fragmentSource]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
        throw new Error(gl.getShaderInfoLog(shader));
    }
    gl.linkProgram(program);
    const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
    for (let k = 0; k < count; k++) {
      const { name } = gl.getActiveUniform(program, k);
      uniforms[name.replace("[0]", "")] = gl.getUniformLocation(program, name);
    }
    return { program, uniforms };
  }

  shadowMap() {
    const { gl } = this, texture = gl.createTexture(), framebuffer = gl.createFramebuffer();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { texture, framebuffer };
  }

  upload({ positions, normals, indices }) {
    const { gl } = this, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    for (const [slot, values] of [[0, positions], [1, normals]]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, 3, gl.FLOAT, false, 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(indices), gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, count: indices.length, radius: boundingRadius(positions) };
  }

  // Items are {mesh, position, rotation (9), scale?, colour (4), still?, lines?}; a plane's mesh is null, its colour
  // null for the theme's ground. Ghosts are items drawn see-through, marks are items seen through everything,
  // occluders are capsules {from, to, radius} that darken what is still.
  draw({ camera, theme, items, ghosts, marks, occluders, centre, radius }) {
    const { gl, canvas } = this, look = THEMES[theme];
    const solid = items.filter((item) => item.mesh && item.colour[3] > 0.99);
    const glassy = items.filter((item) => item.mesh && item.colour[3] <= 0.99);
    const shadowMatrix = this.drawShadow([...solid, ...glassy], centre, radius);

    const { right, up, forward } = cameraAxes(camera.azimuth, camera.elevation);
    const eye = subtract(camera.target, scaled(forward, camera.distance));
    const aspect = canvas.width / canvas.height, high = Math.tan(camera.fieldOfView / 2);
    const reach = Math.max(REACH, 5 * camera.distance);
    const projection = matrixProduct(
      perspective(camera.fieldOfView, aspect, camera.distance / 50, 2 * reach), viewMatrix(eye, right, up, forward));
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.DEPTH_BUFFER_BIT);

    gl.useProgram(this.sky.program);
    gl.depthMask(false);
    gl.disable(gl.DEPTH_TEST);
    gl.uniformMatrix3fv(this.sky.uniforms.u_rays, false,
      [...scaled(right, high * aspect), ...scaled(up, high), ...forward]);
    gl.uniform3fv(this.sky.uniforms.u_zenith, look.zenith);
    gl.uniform3fv(this.sky.uniforms.u_horizon, look.horizon);
    gl.bindVertexArray(this.plane.array);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.depthMask(true);
    gl.enable(gl.DEPTH_TEST);

    this.lightUp(look, eye, reach, projection, shadowMatrix, occluders);
    for (const item of items) if (!item.mesh) this.drawPlane(item, look, camera.target, reach);
    for (const item of solid) this.drawItem(this.surface, item);
    gl.enable(gl.BLEND);
    for (const item of glassy) this.drawItem(this.surface, item);
    this.drawGhosts(ghosts, projection);
    this.drawMarks(marks);
    gl.disable(gl.BLEND);
  }

  lightUp(look, eye, reach, projection, shadowMatrix, occluders) {
    const { gl } = this, { program, uniforms } = this.surface;
    gl.useProgram(program);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow.texture);
    gl.uniformMatrix4fv(uniforms.u_projection, false, projection);
    gl.uniformMatrix4fv(uniforms.u_shadowMatrix, false, shadowMatrix);
    gl.uniform3fv(uniforms.u_eye, eye);
    gl.uniform3fv(uniforms.u_sun, this.sun);
    gl.uniform1f(uniforms.u_reach, reach);
    for (const name of ["zenith", "horizon", "grid", "sunLight", "skyLight", "groundLight"])
      gl.uniform3fv(uniforms[`u_${name}`], look[name]);
    const used = [...occluders].sort((a, b) => b.radius - a.radius).slice(0, MAX_OCCLUDERS);
    this.occluders = used.length;
    if (!used.length) return;
    gl.uniform4fv(uniforms.u_occluderFrom, used.flatMap(({ from, radius }) => [...from, radius]));
    gl.uniform4fv(uniforms.u_occluderTo, used.flatMap(({ to }) => [...to, 0]));
    const ends = used.flatMap(({ from, to }) => [from, to]);
    const middle = scaled(ends.reduce(add), 1 / ends.length);
    const spread = Math.max(...ends.map((end) => norm(subtract(end, middle)))) + 1.5;
    gl.uniform4fv(uniforms.u_occludedSphere, [...middle, spread]);
  }

  drawItem({ uniforms }, item) {
    const { gl } = this, { mesh, position, rotation, scale = [1, 1, 1], colour } = item;
    gl.uniformMatrix3fv(uniforms.u_rotation, false, rotation);
    gl.uniform3fv(uniforms.u_position, position);
    gl.uniform3fv(uniforms.u_scale, scale);
    if (uniforms.u_colour) {
      gl.uniform4fv(uniforms.u_colour, colour);
      gl.uniform1f(uniforms.u_glow, item.glow || 0);
      gl.uniform1f(uniforms.u_lines, item.lines ? 1 : 0);
      gl.uniform1f(uniforms.u_themed, item.themed ? 1 : 0);
      gl.uniform1f(uniforms.u_occluders, item.still ? this.occluders : 0);
    }
    gl.bindVertexArray(mesh.array);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }

  // Planes have no end, as in the simulation. The square moves with the camera in whole metres, so the grid stays put.
  drawPlane(item, look, target, reach) {
    const { rotation: r } = item, away = subtract(target, item.position);
    const x = Math.round(dot(away, r.slice(0, 3))), y = Math.round(dot(away, r.slice(3, 6)));
    const position = add(item.position, add(scaled(r.slice(0, 3), x), scaled(r.slice(3, 6), y)));
    this.drawItem(this.surface, {
      ...item, mesh: this.plane, position, scale: [2 * reach, 2 * reach, 1], colour: item.colour || [...look.ground, 1],
      themed: !item.colour, still: true, lines: true,
    });
  }

  // Depth first, then colour where it is nearest: a ghost shows its outline, never its insides.
  drawGhosts(ghosts, projection) {
    if (!ghosts.length) return;
    const { gl } = this;
    gl.useProgram(this.depth.program);
    gl.uniformMatrix4fv(this.depth.uniforms.u_projection, false, projection);
    gl.colorMask(false, false, false, false);
    for (const ghost of ghosts) this.drawItem(this.depth, ghost);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.EQUAL);
    gl.useProgram(this.surface.program);
    for (const ghost of ghosts) this.drawItem(this.surface, ghost);
    gl.depthFunc(gl.LESS);
  }

  // Marks glow, and show through whatever is in front of them.
  drawMarks(marks) {
    const { gl } = this;
    for (const [depthFunction, alpha] of [[gl.GREATER, 0.45], [gl.LESS, 1]]) {
      gl.depthFunc(depthFunction);
      gl.depthMask(alpha === 1);
      for (const mark of marks)
        this.drawItem(this.surface, { ...mark, colour: [...mark.colour.slice(0, 3), alpha], glow: 0.8 });
    }
  }

  // The sun's view of a ball around `centre`, moved in whole texels so that edges do not crawl.
  drawShadow(casters, centre, radius) {
    const { gl } = this, forward = scaled(this.sun, -1);
    const right = unit(cross(forward, [0, 0, 1])), up = cross(right, forward);
    const texel = (2 * radius) / SHADOW_SIZE, snap = (value) => Math.round(value / texel) * texel;
    const eye = add(add(scaled(right, snap(dot(right, centre))), scaled(up, snap(dot(up, centre)))),
      scaled(forward, dot(forward, centre)));
    const matrix = matrixProduct(orthographic(radius, 4 * radius), viewMatrix(eye, right, up, forward));
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadow.framebuffer);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 4);
    gl.useProgram(this.depth.program);
    gl.uniformMatrix4fv(this.depth.uniforms.u_projection, false, matrix);
    for (const item of casters)
      if (norm(subtract(item.position, centre)) < 1.5 * radius + item.mesh.radius)
        this.drawItem(this.depth, item);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return matrix;
  }
}
