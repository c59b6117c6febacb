// The page: reads its data, keeps the time, and answers the controls.

const element = (id) => document.getElementById(id);

function start() {
  const data = JSON.parse(element("data").textContent), canvas = element("view");
  const renderer = new Renderer(canvas, data.camera.azimuth + 0.75);
  const clip = new Clip(data, renderer);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const state = { time: 0, playing: false, speed: 1, loop: true, follow: false, ghosts: false, contacts: false };
  const camera = { target: data.camera.lookat, distance: data.camera.distance, azimuth: data.camera.azimuth,
    elevation: data.camera.elevation, fieldOfView: data.camera.fieldOfView };
  let stale = true, last = performance.now();
  const refresh = () => { stale = true; };

  function draw() {
    const pose = clip.pose(state.time), moving = clip.items(pose);
    const shift = state.follow ? clip.followed(state.time) : [0, 0, 0], target = add(camera.target, shift);
    renderer.draw({
      camera: { ...camera, target },
      theme: dark.matches ? "dark" : "light",
      items: [...clip.stillItems, ...moving],
      marks: state.contacts ? clip.contactItems(state.time) : [],
      ghosts: state.ghosts ? clip.ghosts(state.time) : [],
      occluders: clip.occluders(moving),
      centre: target,
      radius: clamp(1.1 * camera.distance, 3, 20),
    });
    element("scrub").value = state.time;
    element("scrub").setAttribute("aria-valuetext", `${state.time.toFixed(2)} seconds`);
    element("clock").textContent = `${state.time.toFixed(2)} / ${clip.duration.toFixed(2)} s`;
  }

  function tick(now) {
    // The first frame may have begun before the page was ready, and a hidden page draws none.
    const elapsed = clamp((now - last) / 1000, 0, 0.25);
    last = now;
    if (state.playing) {
      state.time += elapsed * state.speed;
      if (state.time >= clip.duration) {
        if (state.loop && clip.duration > 0) state.time %= clip.duration;
        else { state.time = clip.duration; play(false); }
      }
      stale = true;
    }
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, { width: Math.max(width, 1), height: Math.max(height, 1) });
      stale = true;
    }
    if (stale && width && height) { stale = false; draw(); api.ready = true; }
    requestAnimationFrame(tick);
  }

  function play(on) {
    if (on && !state.playing && state.time >= clip.duration) state.time = 0;
    state.playing = on;
    document.body.classList.toggle("playing", on);
    element("play").setAttribute("aria-label", on ? "Pause" : "Play");
  }

  function seek(time) {
    state.time = clamp(Number(time) || 0, 0, clip.duration);
    refresh();
  }

  function step(frames) {
    play(false);
    seek((Math.round(state.time / clip.dt) + frames) * clip.dt);
  }

  function setSpeed(speed) {
    state.speed = clamp(Math.round(10 * speed) / 10, 0.1, 2);
    element("speed").value = state.speed;
    element("speed-shown").textContent = `${state.speed.toFixed(1)}×`;
  }

  function set(name, on) {
    const button = element(name);
    if (button.disabled) return;
    if (name === "follow" && on !== state.follow) {
      const shift = clip.followed(state.time);
      camera.target = on ? subtract(camera.target, shift) : add(camera.target, shift);
    }
    state[name] = on;
    button.setAttribute("aria-pressed", String(on));
    refresh();
  }

  // What the panels cover, and some air.
  function insets() {
    const covered = innerHeight - element("controls").getBoundingClientRect().top;
    return { left: 0.12, right: 0.12, top: 0.12, bottom: clamp((2 * covered) / innerHeight + 0.06, 0.12, 0.9) };
  }

  function resetView() {
    const spheres = clip.spheres(data.camera.follow && clip.track);
    const fitted = spheres.length
      ? fittedCamera(spheres, data.camera.azimuth, data.camera.elevation, camera.fieldOfView,
        canvas.clientWidth / Math.max(canvas.clientHeight, 1), insets())
      : { target: data.camera.lookat, distance: data.camera.distance };
    Object.assign(camera, { azimuth: data.camera.azimuth, elevation: data.camera.elevation }, fitted);
    state.follow = false;
    if (data.camera.follow && clip.track) {
      camera.target = subtract(camera.target, clip.followed(0));
      state.follow = true;
    }
    element("follow").setAttribute("aria-pressed", String(state.follow));
    refresh();
  }

  function describe() {
    element("title").textContent = data.title;
    element("subtitle").textContent = data.subtitle;
    const rows = [["duration", `${clip.duration.toFixed(2)} s`]];
    rows.push(["frames", `${clip.frames} at ${+(1 / clip.dt).toFixed(1)} fps`]);
    for (const [name, value] of [...rows, ...data.figures]) {
      const term = document.createElement("dt"), detail = document.createElement("dd");
      term.textContent = name;
      detail.textContent = value;
      element("figures").append(term, detail);
    }
    if (innerWidth < 640) element("info").open = false;
  }

  const toggles = { loop: "l", follow: "f", ghosts: "g", contacts: "c" };
  element("scrub").max = clip.duration;
  element("follow").disabled = !clip.track;
  element("contacts").hidden = !clip.contacts;
  element("play").addEventListener("click", () => play(!state.playing));
  element("back").addEventListener("click", () => step(-1));
  element("forth").addEventListener("click", () => step(1));
  element("reset").addEventListener("click", resetView);
  element("scrub").addEventListener("input", (event) => { play(false); seek(event.target.value); });
  element("speed").addEventListener("input", (event) => setSpeed(Number(event.target.value)));
  for (const name of Object.keys(toggles)) element(name).addEventListener("click", () => set(name, !state[name]));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target, key } = event, toggle = Object.keys(toggles).find((name) => toggles[name] === key.toLowerCase());
    if (key === " " && target.tagName !== "BUTTON" && target.tagName !== "SUMMARY") play(!state.playing);
    else if (key === "ArrowLeft" && target.id !== "speed") step(-1);
    else if (key === "ArrowRight" && target.id !== "speed") step(1);
    else if (key === "Home") seek(0);
    else if (key === "End") seek(clip.duration);
    else if (key === "[") setSpeed(state.speed - 0.1);
    else if (key === "]") setSpeed(state.speed + 0.1);
    else if (key.toLowerCase() === "r") resetView();
    else if (toggle && !element(toggle).hidden) set(toggle, !state[toggle]);
    else return;
    event.preventDefault();
  });
  dark.addEventListener("change", refresh);
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => location.reload());
  orbit(canvas, camera, refresh);

  const api = {
    ready: false,
    frames: clip.frames,
    duration: clip.duration,
    get time() { return state.time; },
    get playing() { return state.playing; },
    seek,
    play: () => play(true),
    pause: () => play(false),
  };
  window.gambol = api;
  describe();
  resetView();
  play(clip.duration > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  requestAnimationFrame(tick);
}

try {
  start();
} catch (error) {
  element("problem").textContent = error.message;
  element("problem").hidden = false;
}
